// What a run was shown of some chunks: the text if it was read in full, and some of the facts.
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id, corpus: $corpus})
WHERE $scope IS NULL OR c.document IN $scope
CALL (row, c) {
  WITH row, c WHERE size(row.facts) > 0
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.index IN row.facts
  WITH f ORDER BY f.index
  RETURN collect(f {.id, .index, .text, .start, .end, .heading, .speaker, .when}) AS facts
}
RETURN collect({
  chunk: CASE
    WHEN row.read THEN c {.*, document: coalesce(c.title, ''), document_id: c.document}
    ELSE c {.id, .index, .start, document: coalesce(c.title, ''), document_id: c.document}
  END,
  read: row.read, facts: facts
}) AS rows
