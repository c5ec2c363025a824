// The pairs of similar key elements of a corpus, with a cosine of at least $least. They are looked up
// by their type, not from the key elements, few of which have any.
MATCH (a)-[l:LIKE]->(b)
WHERE a.corpus = $corpus AND l.score >= $least
RETURN a.id AS a, b.id AS b, l.score AS score
