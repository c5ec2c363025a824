// One path of a run: its initial node, the place of each function, the citations that it led to, and
// a fact between consecutive places; chunks stand beside their document. Path 0 draws all paths (the
// latest run whose question contains these words; leave them empty for the latest of all)
// :param corpus => 'demo'
// :param words => 'canonized'
// :param path => 1
MATCH (r:Run {corpus: $corpus})
WHERE r.question CONTAINS $words
WITH r ORDER BY r.asked DESC, r.id LIMIT 1
MATCH (r)-[step:INITIAL_NODE|STEP|CITED]->(here)
WHERE $path IN [0, step.path]
  OR type(step) = 'CITED' AND EXISTS { (r)-[:STEP {path: $path}]->(here) }
OPTIONAL MATCH (here)<-[has_chunk:HAS_CHUNK]-(d:Document)
OPTIONAL MATCH (r)-[:STEP {path: step.path, number: step.number + 1}]->(there) WHERE there <> here
CALL (here, there) {
  WITH here, there WHERE there IS NOT NULL
  MATCH way = shortestPath((here)-[:HAS_KEY_ELEMENT|HAS_ATOMIC_FACT|NEXT*..2]-(there))
  RETURN collect(way)[0] AS way
}
RETURN r, step, here, has_chunk, d, way, CASE $path WHEN 0 THEN 'all' ELSE toString($path) + ' of' END
       + ' ' + toString(COUNT { (r)-[:INITIAL_NODE]->() }) + ' paths' AS drawn
ORDER BY step.path, step.number;
