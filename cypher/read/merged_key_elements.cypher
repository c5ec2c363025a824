// Which key elements of a corpus are merged into which, and whether all of their facts are moved.
MATCH (k:KeyElement {corpus: $corpus})
USING INDEX k:KeyElement(corpus, merged_into)
WHERE k.merged_into IS NOT NULL
RETURN k.id AS id, k.merged_into AS into, k.merged_by AS by,
       NOT EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() } AS moved
