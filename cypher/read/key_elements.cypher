// The key elements of a corpus, those with the most facts first.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.merged_into IS NULL
RETURN k.id AS id, k.name AS name, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS facts
ORDER BY facts DESC, name
LIMIT $limit
