// unreachable: facts that paths cannot reach
// These are facts without a key element; facts whose key elements have no other fact, which only a
// search finds; facts whose key elements all have more than 250 facts, of which a path sees a part
// :param corpus => 'demo'
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
WITH f, d.title + ', chunk ' + toString(c.index) + ': ' + f.text AS shown, CASE
       WHEN NOT EXISTS { (f)-[:HAS_KEY_ELEMENT]->() } THEN 'unnamed'
       WHEN NOT EXISTS { (f)-[:HAS_KEY_ELEMENT]->()<-[:HAS_KEY_ELEMENT]-(g) WHERE g <> f }
         THEN 'alone'
       WHEN NOT EXISTS { (f)-[:HAS_KEY_ELEMENT]->(k)
         WHERE COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } <= 250 } THEN 'crowded'
     END AS why
RETURN count(f) AS facts,
       count(CASE why WHEN 'unnamed' THEN 1 END) AS no_key_element_names,
       count(CASE why WHEN 'alone' THEN 1 END) AS only_a_search_finds,
       count(CASE why WHEN 'crowded' THEN 1 END) AS only_busy_ones_name,
       collect(CASE WHEN why IS NOT NULL THEN why + ': ' + shown END)[..25] AS examples;
