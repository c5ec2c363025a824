// Stores the place of each chunk in the document's present text.
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id})
SET c += row.place
REMOVE c.pending
