// The facts that name a key element, grouped by chunk, in the order of the texts. If there are more
// than $most, the facts that also name a related key element come first.
MATCH (k:KeyElement {id: $id, corpus: $corpus})
WITH k, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS total
CALL (k, total) {
  UNWIND CASE WHEN total > $most THEN range(0, size($related) - 1) ELSE [] END AS place
  MATCH (r:KeyElement {id: $related[place], corpus: $corpus})
  WHERE r <> k
  CALL (r) {
    MATCH (r)<-[:HAS_KEY_ELEMENT]-(f)
    RETURN f LIMIT $each
  }
  // A fact names few: going through them is cheaper than asking whether it names the one.
  MATCH (f)-[:HAS_KEY_ELEMENT]->(same)
  WHERE same = k
  RETURN f, place
UNION ALL
  MATCH (k)<-[:HAS_KEY_ELEMENT]-(f)
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
