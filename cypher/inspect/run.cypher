// run: one path of a run as a chain of its steps, with their places and the citations of these
// A step stands with the key element or chunk where it was chosen. Path 0 draws all paths. It is the
// latest run whose question contains these words, without words the latest of all
// :param corpus => 'demo'
// :param words => ''
// :param path => 1
MATCH (r:Run {corpus: $corpus})
WHERE r.question CONTAINS $words
WITH r ORDER BY r.asked DESC, r.id LIMIT 1
MATCH (r)-[has_path:HAS_PATH]->(p:Path)
WHERE $path IN [0, p.path]
MATCH (p)-[:NEXT_STEP*0..]->(step)
OPTIONAL MATCH ()-[next:NEXT_STEP]->(step)
OPTIONAL MATCH (step)-[at:INITIAL_NODE|AT]->(place)
OPTIONAL MATCH (r)-[cited:CITED]->(place)
RETURN r, has_path, p, next, step, at, place, cited
ORDER BY step.path, step.number;
