// Deletes the facts of the given chunks, and in the same transaction each key element that no
// extracted fact names any more; the others are marked as stale if they have several wordings, which
// are to be counted again. Key elements that were merged or joined into a deleted one get their facts
// back. Runs in a transaction of its own.
UNWIND $chunks AS chunk
MATCH (:Chunk {id: chunk})-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
WITH collect(f.id) AS facts
UNWIND range(0, size(facts) - 1, 500) AS start
WITH facts[start..start + 500] AS ids
CALL (ids) {
  OPTIONAL MATCH (c:Corpus {name: $corpus})
  SET c.updated = datetime()
  WITH ids
  CALL (ids) {
    UNWIND ids AS id
    MATCH (:AtomicFact {id: id})-[:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k:KeyElement)
    WITH DISTINCT k ORDER BY k.id
    SET k.stale = CASE WHEN size(k.aliases) > 1 THEN true ELSE k.stale END
    RETURN collect(k) AS elements
  }
  CALL (ids) {
    UNWIND ids AS id
    MATCH (f:AtomicFact {id: id})
    DETACH DELETE f
  }
  CALL (elements) {
    UNWIND elements AS k
    WITH k
    WHERE k.frequent
      AND COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } + COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } < $frequent
    REMOVE k.frequent
  }
  UNWIND elements AS k
  WITH k
  WHERE NOT EXISTS { (k)<-[:MERGED_KEY_ELEMENT]-() } AND NOT EXISTS {
    (k)<-[r:HAS_KEY_ELEMENT]-() WHERE r.from IS NULL
  }
  WITH k, k.id AS gone
  CALL (gone) {
    MATCH (b:KeyElement {corpus: $corpus, merged_into: gone})
    USING INDEX SEEK b:KeyElement(corpus, merged_into)
    SET b.stale = true
    REMOVE b.merged_into, b.merged_by
  }
  CALL (k) {
    MATCH (k)<-[s:HAS_KEY_ELEMENT]-(f:AtomicFact)-[m:MERGED_KEY_ELEMENT]->(b)
    WHERE s.from IS NOT NULL AND b.merged_into IS NULL
    CREATE (f)-[:HAS_KEY_ELEMENT {surface: m.surface}]->(b)
    SET b.stale = true
    DELETE m
    WITH f
    MATCH (f)<-[:HAS_ATOMIC_FACT]-(c:Chunk)
    MATCH (d:Document {id: c.document})
    WHERE d.joined IS NOT NULL
    SET d.named = null
  }
  DETACH DELETE k
} IN TRANSACTIONS OF 1 ROW
