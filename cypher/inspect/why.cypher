// why: the evidence of a run: the cited chunks, their facts, the key elements that led there
// Of each citation at most three facts: those that contain the quote, then those that name key
// elements of the paths. It is the latest run whose question contains these words, without words
// the latest of all
// :param corpus => 'demo'
// :param words => ''
MATCH (r:Run {corpus: $corpus})
WHERE r.question CONTAINS $words
WITH r ORDER BY r.asked DESC, r.id LIMIT 1
MATCH (r)-[cited:CITED]->(c:Chunk)
CALL (r, cited, c) {
  MATCH (c)-[has_fact:HAS_ATOMIC_FACT]->(f:AtomicFact)
  OPTIONAL MATCH (f)-[names:HAS_KEY_ELEMENT]->(k:KeyElement)
  WHERE EXISTS { (r)-[:HAS_PATH]->()-[:NEXT_STEP*0..]->()-[:INITIAL_NODE|AT]->(k) }
  WITH has_fact, f, collect(names) AS names, collect(k) AS elements,
       cited.quote CONTAINS f.text OR f.text CONTAINS cited.quote AS is_quoted
  WHERE is_quoted OR size(elements) > 0
  ORDER BY is_quoted DESC, size(elements) DESC, f.index
  RETURN collect({has_fact: has_fact, fact: f, names: names, elements: elements})[..3] AS evidence
}
RETURN r, cited, c, evidence
ORDER BY cited.number;
