// The facts of a corpus nearest to each of some vectors, nearest first, by comparison with all of
// them. No row for a corpus whose facts have no vectors.
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.fact_vectors
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.embedding IS NOT NULL AND c.pending IS NULL AND c.retired IS NULL
  WITH c, d, f, vector.similarity.cosine(f.embedding, $vectors[place]) AS score
  ORDER BY score DESC, f.id
  LIMIT $facts
  RETURN collect([c.id, d.title, f.index, f.terms, 2 * score - 1]) AS rows
}
RETURN rows
ORDER BY place
