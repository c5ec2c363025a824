// Removes the chunks that are not in the document's present text from its order, and returns them.
// They are ignored until they are deleted.
MATCH (:Document {id: $document})-[:HAS_CHUNK]->(c:Chunk)
WHERE NOT c.id IN $chunks
SET c.pending = true, c.retired = true
RETURN c.id AS id
