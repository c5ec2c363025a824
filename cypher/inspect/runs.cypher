// runs: the latest 25 kept runs: question, answer, and how much of the graph they visited
// :param corpus => 'demo'
MATCH (r:Run {corpus: $corpus})
WITH r ORDER BY r.asked DESC, r.id LIMIT 25
WITH r, COLLECT {
       MATCH (r)-[:HAS_PATH]->()-[:NEXT_STEP*1..]->()-[:AT]->(place) RETURN DISTINCT place
     } AS places
RETURN r.asked AS asked, r.question AS question, r.answered AS answered, r.answer AS answer,
       COUNT { (r)-[:HAS_PATH]->() } AS paths,
       COUNT { (r)-[:HAS_PATH]->()-[:NEXT_STEP*1..]->() } AS functions,
       size([place IN places WHERE place:KeyElement]) AS key_elements,
       size([place IN places WHERE place:Chunk]) AS chunks,
       COUNT { (r)-[:CITED]->() } AS citations,
       r.decider AS decider, r.calls AS calls, r.tokens AS tokens, r.seconds AS seconds, r.id AS run
ORDER BY asked DESC, run;
