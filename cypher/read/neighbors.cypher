// The key elements that share a fact with a key element, those first that share the most relative
// to the square root of their number of facts. If the key element has more than $most facts, facts
// that also name a related key element are used first. The first $opening facts of documents whose
// title is the key element's name count as its own. A key element of the chunks $recent whose name
// occurs in $noted counts as a neighbor, too. `unread` is true if the neighbor has a fact in a
// chunk that is not in $read.
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
UNION ALL
  UNWIND [k.name] + k.aliases[..10] AS called
  MATCH (d:Document)
  WHERE d.corpus = $corpus AND d.title STARTS WITH called
  WITH d WHERE d.title = called OR d.title STARTS WITH called + ' ('
  WITH DISTINCT d LIMIT 10
  MATCH (d)-[:HAS_CHUNK]->(c {index: 0})
  WHERE c.pending IS NULL AND c.retired IS NULL
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.index < $opening
  RETURN f, -1 AS place
}
WITH k, f, min(place) AS place
ORDER BY place LIMIT $most
WITH k, collect({fact: f, related: 0 <= place AND place < size($related)}) AS looked_at
CALL (k, looked_at) {
  UNWIND looked_at AS one
  WITH k, one.fact AS f, one.related AS related
  MATCH (f)-[:HAS_KEY_ELEMENT]->(n)
  WHERE n <> k
  RETURN n, count(*) AS shared, max(CASE WHEN related THEN 1 ELSE 0 END) AS through
UNION ALL
  UNWIND $recent AS id
  MATCH (:Chunk {id: id, corpus: $corpus})-[:HAS_ATOMIC_FACT]->()-[:HAS_KEY_ELEMENT]->(n)
  WITH DISTINCT k, n
  WHERE n <> k AND $noted CONTAINS n.name
  RETURN n, 1 AS shared, 0 AS through
}
WITH n, max(shared) AS shared, max(through) AS through
WHERE NOT n.id IN $visited
WITH n, shared, through, COUNT { (n)<-[:HAS_KEY_ELEMENT]-() } AS facts
ORDER BY through DESC, shared / sqrt(facts) DESC, n.name, n.id
LIMIT $limit
WITH n, shared, facts, EXISTS {
  MATCH (n)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c) WHERE NOT c.id IN $read
} AS unread, vector.similarity.cosine(n.embedding, $vector) AS score
RETURN collect(n {.id, .name, unread, shared, facts, similarity: coalesce(2 * score - 1, 0.0)}) AS rows
