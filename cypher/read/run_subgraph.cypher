// The key elements and chunks of a run by id; deleted ones are left out. A merged key element is
// replaced by its target; `asked` is the id in $ids. `named` connects chunks with the key elements
// in their facts, `shared` connects key elements by the facts that name both, among the first $most
// facts of one of them. Each connection shows one fact.
WITH COLLECT {
  UNWIND $ids AS id
  MATCH (k:KeyElement {id: id, corpus: $corpus})
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  RETURN {asked: id, element: coalesce(a, k)}
} AS found, COLLECT {
  UNWIND $ids AS id
  MATCH (c:Chunk {id: id, corpus: $corpus})
  WHERE $scope IS NULL OR c.document IN $scope
  RETURN c
} AS chunks
WITH chunks, found, COLLECT {
  UNWIND found AS one
  RETURN DISTINCT one.element
} AS elements, [one IN found | one.element.id] AS ids
RETURN [one IN found | {asked: one.asked, id: one.element.id, name: one.element.name}] AS elements,
  COLLECT {
    UNWIND chunks AS c
    MATCH (d:Document)-[:HAS_CHUNK]->(c)
    RETURN c {.id, .index, .start, document: d.title, document_id: d.id}
  } AS chunks,
  COLLECT {
    UNWIND chunks AS c
    MATCH (c)-[:HAS_ATOMIC_FACT]->(f)-[:HAS_KEY_ELEMENT]->(k)
    WHERE k.id IN ids
    WITH c, k, f ORDER BY f.index, f.id
    WITH c.id AS one, k.id AS other, collect(f.text) AS texts
    RETURN {one: one, other: other, facts: size(texts), fact: texts[0]}
  } AS named,
  COLLECT {
    UNWIND elements AS k
    CALL (k) {
      MATCH (k)<-[:HAS_KEY_ELEMENT]-(f)
      WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
      RETURN f LIMIT $most
    }
    MATCH (f)-[:HAS_KEY_ELEMENT]->(o)
    WHERE o.id IN ids AND o <> k
    WITH k, o, f ORDER BY f.index, f.id
    WITH k.id AS one, o.id AS other, collect(f.text) AS texts
    RETURN {one: one, other: other, facts: size(texts), fact: texts[0]}
  } AS shared
