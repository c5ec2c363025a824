// The key elements of a corpus that have no vector yet.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.embedding IS NULL
RETURN k.id AS id, k.key AS key
ORDER BY id
