// The ids of the key elements of a corpus that have a vector.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.embedding IS NOT NULL
WITH k.id AS id ORDER BY id
RETURN collect(id) AS ids
