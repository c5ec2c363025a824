// Names and aliases of key elements, how many facts they have, the ids of their facts unless they are
// too many, the chunks of some facts and the titles of the first $titles documents of these.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
WITH k, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS total
CALL (k, total) {
  MATCH (k)<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)
  WITH f LIMIT $compared
  MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
  WITH collect(f.id) AS ids, collect(DISTINCT c) AS chunks
  CALL (chunks) {
    UNWIND chunks AS c
    MATCH (d:Document {id: c.document})
    WITH DISTINCT d.title AS title
    ORDER BY title LIMIT $titles
    RETURN collect(title) AS titles
  }
  RETURN CASE WHEN total <= $compared THEN ids ELSE [] END AS facts, [c IN chunks | c.id] AS chunks, titles
}
RETURN collect(k {.id, .name, .aliases, total, facts, chunks, titles}) AS rows
