// Those of the given key elements that exist and have no vector yet.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
WHERE k.embedding IS NULL
RETURN collect(id) AS ids
