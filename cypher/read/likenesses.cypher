// The pairs of key elements of a corpus that were found alike.
MATCH (a:KeyElement {corpus: $corpus})-[l:LIKE]->(b:KeyElement)
WHERE l.score >= $least
RETURN a.id AS a, b.id AS b, l.score AS score
