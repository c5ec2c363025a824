// Some key elements with their vectors.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
WHERE k.embedding IS NOT NULL
RETURN k.id AS id, k.key AS key, k.name AS name, k.embedding AS embedding
