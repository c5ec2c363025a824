// Gives the facts with some wordings of a key element to the key element of another key, which is made
// if it does not exist; a key element without facts is deleted. No fact may be merged or joined.
UNWIND $rows AS row
MATCH (k:KeyElement {id: row.id, corpus: $corpus})
MERGE (n:KeyElement {id: row.new})
ON CREATE SET n.corpus = $corpus, n.corpus_word = k.corpus_word, n.key = row.key, n.name = row.surface,
              n.aliases = [row.surface]
SET n.stale = true, k.stale = true
WITH k, n, row
CALL (k, n, row) {
  MATCH (k)<-[r:HAS_KEY_ELEMENT {surface: row.surface}]-(f:AtomicFact)
  MERGE (f)-[s:HAS_KEY_ELEMENT]->(n)
  ON CREATE SET s.surface = r.surface
  DELETE r
}
WITH k, n
SET n.frequent = CASE WHEN COUNT { (n)<-[:HAS_KEY_ELEMENT]-() } >= $frequent THEN true END
WITH DISTINCT k
WHERE NOT EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() }
DETACH DELETE k
