// Removes the chunks that are not in the document's present text from its order, and returns them.
// They are ignored until they are deleted. The names of the document are to be joined again.
MATCH (d:Document {id: $document})-[:HAS_CHUNK]->(c:Chunk)
WHERE NOT c.id IN $chunks
SET c.pending = true, c.retired = true, d.named = null
RETURN c.id AS id
