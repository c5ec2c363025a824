// The key elements of a corpus that have no vector yet.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.embedding IS NULL
RETURN k.id AS id, k.key AS key, k.name AS name
ORDER BY id
