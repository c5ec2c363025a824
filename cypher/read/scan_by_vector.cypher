// The key elements of a corpus nearest to a vector, by comparing with every one of them.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.embedding IS NOT NULL
WITH k, vector.similarity.cosine(k.embedding, $vector) AS score
RETURN k.id AS id, k.name AS name, score
ORDER BY score DESC, id
LIMIT $limit
