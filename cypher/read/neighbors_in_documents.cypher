// The neighbors of a key element in few documents, see neighbors: all facts of these documents are gone
// through, since a frequent key element has many more in others.
UNWIND $scope AS document
MATCH (:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f)
MATCH (f)-[:HAS_KEY_ELEMENT]->(n)
WITH n, collect(f) AS facts, max(NOT c.id IN $read) AS unread, NOT n.id IN $visited AS is_new
UNWIND facts AS f
WITH f, collect({n: n, facts: size(facts), unread: unread}) AS named,
     max(unread AND is_new) AS leads_on, max(n.id IN $related AND n.id <> $id) AS related,
     max(CASE n.id WHEN $id THEN size(facts) ELSE 0 END) AS total
UNWIND named AS one
WITH one.n AS n, one.facts AS facts, one.unread AS unread, max(leads_on) AS leads_on,
     sum(CASE WHEN total > 0 THEN 1 ELSE 0 END) AS shared, max(related AND total > $most) AS through
WHERE shared > 0 AND n.id <> $id AND NOT n.id IN $visited
ORDER BY through DESC, shared / sqrt(facts) DESC, n.name, n.id
LIMIT $limit
WITH n, facts, unread, leads_on, shared, vector.similarity.cosine(n.embedding, $vector) AS score
RETURN collect(n {
  .id, .name, leads_on, unread: unread, shared: shared, facts: facts,
  similarity: coalesce(2 * score - 1, 0.0)
}) AS rows
