// The merged key elements of a corpus with their targets, and whether all their facts are moved.
MATCH (k:KeyElement {corpus: $corpus})
USING INDEX SEEK k:KeyElement(corpus, merged_into)
WHERE k.merged_into IS NOT NULL
RETURN k.id AS id, k.merged_into AS into, k.merged_by AS by,
       NOT EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() } AS moved
