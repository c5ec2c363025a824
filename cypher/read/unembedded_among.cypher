// Which of the given key elements are there and have no vector yet.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id})
WHERE k.embedding IS NULL
RETURN id
