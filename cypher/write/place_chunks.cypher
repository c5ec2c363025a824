// Stores the place of each chunk in the document's present text. Passages under other headings than
// before are to be indexed again.
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id})
CALL (row, c) {
  WITH row, c
  WHERE coalesce(c.heading_path, []) <> coalesce(row.place.heading_path, [])
  MATCH (c)-[:HAS_PASSAGE]->(p)
  REMOVE p.terms
}
SET c += row.place
REMOVE c.pending
