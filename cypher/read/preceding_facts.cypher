// For each of some chunks the facts right before some of its facts, by their index.
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id, corpus: $corpus})
WHERE $scope IS NULL OR c.document IN $scope
CALL (row, c) {
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.index + 1 IN row.facts
  RETURN collect([f.index + 1, f.text]) AS before
}
RETURN collect({id: c.id, before: before}) AS rows
