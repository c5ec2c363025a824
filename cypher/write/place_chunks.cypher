// Says where each chunk of a document stands now, and that it belongs to the document's order.
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id})
SET c.index = row.index, c.start = row.start, c.end = row.end
REMOVE c.pending
