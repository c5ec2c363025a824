// Stores the place of each chunk in the document's present text.
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id})
SET c.index = row.index, c.start = row.start, c.end = row.end
REMOVE c.pending
