// Takes the chunks that are not of the document's present text out of its order, and returns them:
// they are to be deleted, and count for nothing until then.
MATCH (:Document {id: $document})-[:HAS_CHUNK]->(c:Chunk)
WHERE NOT c.id IN $chunks
SET c.pending = true, c.retired = true
RETURN c.id AS id
