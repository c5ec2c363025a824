// The latest 25 kept runs: question, answer, and how much of the graph they visited
// :param corpus => 'demo'
MATCH (r:Run {corpus: $corpus})
WITH r ORDER BY r.asked DESC, r.id LIMIT 25
RETURN r.asked AS asked, r.question AS question, r.answered AS answered, r.answer AS answer,
       COUNT { (r)-[:INITIAL_NODE]->() } AS paths,
       COUNT { (r)-[:STEP]->() } AS functions,
       COUNT { MATCH (r)-[:STEP]->(k:KeyElement) RETURN DISTINCT k } AS key_elements,
       COUNT { MATCH (r)-[:STEP]->(c:Chunk) RETURN DISTINCT c } AS chunks,
       COUNT { (r)-[:CITED]->() } AS citations,
       r.decider AS decider, r.calls AS calls, r.tokens AS tokens, r.seconds AS seconds, r.id AS run
ORDER BY asked DESC, run;
