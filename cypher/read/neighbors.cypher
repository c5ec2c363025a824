// The key elements that share a fact with a key element, those first that share the most relative
// to the square root of their number of facts. If the key element has more than $most facts, facts
// that also name a related key element are used first. `unread` is true if the neighbor has a fact
// in a chunk that is not in $read, `leads_on` if it or one of its own neighbors has; of one key
// element at most $ahead facts are looked at for this.
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
WITH k, f, min(place) AS place
ORDER BY place LIMIT $most
WITH k, collect({fact: f, related: 0 <= place AND place < size($related)}) AS looked_at
UNWIND looked_at AS one
WITH k, one.fact AS f, one.related AS related
MATCH (f)-[:HAS_KEY_ELEMENT]->(n)
WHERE n <> k
WITH n, count(*) AS shared, max(CASE WHEN related THEN 1 ELSE 0 END) AS through
WHERE NOT n.id IN $visited
WITH n, shared, through, CASE WHEN $scope IS NULL THEN COUNT { (n)<-[:HAS_KEY_ELEMENT]-() } ELSE COUNT {
  (n)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope
} END AS facts
ORDER BY through DESC, shared / sqrt(facts) DESC, n.name, n.id
LIMIT $limit
WITH n, shared, facts, EXISTS {
  MATCH (n)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c)
  WHERE NOT c.id IN $read AND ($scope IS NULL OR c.document IN $scope)
} AS unread
WITH collect({n: n, shared: shared, facts: facts, unread: unread}) AS found
// Many neighbors have the same neighbors: each of these is looked at once.
CALL (found) {
  UNWIND [one IN found WHERE NOT one.unread | one.n] AS n
  CALL (n) {
    MATCH (n)<-[:HAS_KEY_ELEMENT]-(f)
    WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
    RETURN f LIMIT $ahead
  }
  MATCH (f)-[:HAS_KEY_ELEMENT]->(m)
  WITH m, collect(DISTINCT n) AS before
  WHERE NOT m.id IN $visited AND EXISTS {
    MATCH (m)<-[:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c)
    WHERE $scope IS NULL OR c.document IN $scope
    WITH c LIMIT $ahead
    WHERE NOT c.id IN $read
    RETURN c
  }
  UNWIND before AS n
  RETURN collect(DISTINCT n) AS leading
}
UNWIND found AS one
WITH one, one.n AS n, one.unread OR one.n IN leading AS leads_on
WITH one, n, leads_on, vector.similarity.cosine(n.embedding, $vector) AS score
RETURN collect(n {
  .id, .name, leads_on, unread: one.unread, shared: one.shared, facts: one.facts,
  similarity: coalesce(2 * score - 1, 0.0)
}) AS rows
