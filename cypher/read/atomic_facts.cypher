// The facts that name a key element, grouped by chunk, in the order of the texts. If there are more
// than $most, the facts that also name a related key element come first. Here and in other statements
// $scope has the ids of the documents that are read; null: all.
MATCH (k:KeyElement {id: $id, corpus: $corpus})
WITH k, CASE WHEN $scope IS NULL THEN COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } ELSE COUNT {
  (k)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope
} END AS total
CALL (k, total) {
  UNWIND CASE WHEN total > $most THEN range(0, size($related) - 1) ELSE [] END AS place
  MATCH (r:KeyElement {id: $related[place], corpus: $corpus})
  WHERE r <> k
  CALL (r) {
    MATCH (r)<-[:HAS_KEY_ELEMENT]-(f)
    WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
    RETURN f LIMIT $each
  }
  // A fact names few: going through them is cheaper than asking whether it names the one.
  MATCH (f)-[:HAS_KEY_ELEMENT]->(same)
  WHERE same = k
  RETURN f, place
UNION ALL
  MATCH (k)<-[:HAS_KEY_ELEMENT]-(f)
  WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
  RETURN f, size($related) AS place LIMIT $most
}
WITH total, f, min(place) AS place
ORDER BY place LIMIT $most
MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
WITH total, c, f ORDER BY f.index
WITH total, c, collect(f {.id, .index, .text, .start, .end, .heading, .speaker, .when}) AS facts
// By its id a document is found sooner than from a chunk with many facts.
MATCH (d:Document {id: c.document})
WITH total, c, d, facts ORDER BY d.title, d.id, c.index
WITH total, {
  chunk: c {.id, .index, .start, .heading_path, document: d.title, document_id: d.id}, facts: facts
} AS row
RETURN total, collect(row) AS rows
