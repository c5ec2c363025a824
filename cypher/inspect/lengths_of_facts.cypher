// lengths_of_facts: the shortest and the longest: a very short fact says little, a very long one is
// not atomic
// :param corpus => 'demo'
CALL () {
  MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
  RETURN 'shortest' AS which, d, c, f ORDER BY size(f.text), f.id LIMIT 10
  UNION ALL
  MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
  RETURN 'longest' AS which, d, c, f ORDER BY size(f.text) DESC, f.id LIMIT 10
}
RETURN which, size(f.text) AS characters, f.text AS fact, d.title AS document, c.index AS chunk;
