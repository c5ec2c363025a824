// The paths of a run: their initial nodes, the place of each function, and a fact between
// consecutive places (the latest run whose question contains these words; leave them empty for the
// latest of all)
// :param corpus => 'demo'
// :param words => 'canonized'
MATCH (r:Run {corpus: $corpus})
WHERE r.question CONTAINS $words
WITH r ORDER BY r.asked DESC, r.id LIMIT 1
MATCH (r)-[step:INITIAL_NODE|STEP|CITED]->(here)
OPTIONAL MATCH (r)-[:STEP {path: step.path, number: step.number + 1}]->(there) WHERE there <> here
CALL (here, there) {
  WITH here, there WHERE there IS NOT NULL
  MATCH way = shortestPath((here)-[:HAS_KEY_ELEMENT|HAS_ATOMIC_FACT|NEXT*..2]-(there))
  RETURN collect(way)[0] AS way
}
RETURN r, step, here, way
ORDER BY step.path, step.number;
