// What a run was shown of some chunks: the text if it was read in full, and some of the facts.
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id, corpus: $corpus})
CALL (row, c) {
  WITH row, c WHERE size(row.facts) > 0
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.index IN row.facts
  WITH f ORDER BY f.index
  RETURN collect(f.text) AS facts
}
RETURN collect({
  id: c.id, document_id: c.document, start: c.start,
  text: CASE WHEN row.read THEN c.text END, facts: facts
}) AS rows
