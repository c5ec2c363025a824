// For each of some key elements the similar ones of its corpus with the cosines, out of the `wide`
// nearest of all corpora; `last` is the lowest cosine of these.
UNWIND $ids AS id
MATCH (a:KeyElement {id: id, corpus: $corpus})
WHERE a.embedding IS NOT NULL
CALL (a) {
  CALL db.index.vector.queryNodes('graphreader_key_element_embeddings', $wide, a.embedding)
  YIELD node AS b, score AS near
  RETURN b, 2 * near - 1 AS cosine
}
RETURN a.id AS id, min(cosine) AS last, count(*) AS found,
       collect(CASE WHEN b <> a AND b.corpus = $corpus AND cosine >= $least
                    THEN b {.id, .key, .name, score: cosine} END) AS similar
