// The pairs of similar key elements of a corpus, with a cosine of at least $least.
MATCH (a:KeyElement {corpus: $corpus})-[l:LIKE]->(b:KeyElement)
WHERE l.score >= $least
RETURN a.id AS a, b.id AS b, l.score AS score
