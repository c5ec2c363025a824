// For each of some key elements the similar ones of its corpus, out of the `wide` nearest. The
// index compares quantized vectors: `score` is the exact cosine, `last` the lowest one that the
// index returned.
CYPHER 25
UNWIND $ids AS id
MATCH (a:KeyElement {id: id})
CALL (a) {
  MATCH (b:KeyElement)
  SEARCH b IN (
    VECTOR INDEX graphreader_key_element_embeddings FOR a.embedding
    WHERE b.corpus = $corpus LIMIT $wide
  ) SCORE AS near
  RETURN b, near
}
WITH a, min(near) AS last, count(*) AS found, collect(CASE WHEN b <> a THEN b END) AS others
RETURN a.id AS id, last, found,
       [b IN others WHERE 2 * vector.similarity.cosine(a.embedding, b.embedding) - 1 >= $least |
         b {.id, .key, .name, score: 2 * vector.similarity.cosine(a.embedding, b.embedding) - 1}] AS similar
