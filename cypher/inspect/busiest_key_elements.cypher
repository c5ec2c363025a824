// busiest_key_elements: those with the most facts (the first 25): many paths lead through them
// :param corpus => 'demo'
MATCH (k:KeyElement {corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)
WITH k, count(f) AS facts
ORDER BY facts DESC, k.name
LIMIT 25
RETURN k.name AS key_element, facts,
       COUNT { MATCH (k)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c:Chunk) RETURN DISTINCT c }
         AS chunks,
       COUNT {
         MATCH (k)<-[:HAS_KEY_ELEMENT]-()-[:HAS_KEY_ELEMENT]->(n) WHERE n <> k RETURN DISTINCT n
       } AS neighbors,
       k.aliases AS aliases;
