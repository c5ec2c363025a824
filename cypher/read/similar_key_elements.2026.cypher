// For each of some key elements the similar ones of its corpus with the cosines, out of the `wide`
// nearest; `last` is the lowest cosine of these.
CYPHER 25
UNWIND $ids AS id
MATCH (a:KeyElement {id: id, corpus: $corpus})
CALL (a) {
  MATCH (b:KeyElement)
  SEARCH b IN (
    VECTOR INDEX graphreader_key_element_embeddings FOR a.embedding
    WHERE b.corpus = $corpus LIMIT $wide
  ) SCORE AS near
  RETURN b, 2 * near - 1 AS cosine
}
RETURN a.id AS id, min(cosine) AS last, count(*) AS found,
       collect(CASE WHEN b <> a AND cosine >= $least THEN b {.id, .key, .name, score: cosine} END) AS similar
