// The passages of a corpus nearest to each of some vectors, nearest first, by comparison with all of
// them. No row for a corpus whose passages have no vectors.
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.passage_vectors
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_PASSAGE]->(p)
  WHERE p.embedding IS NOT NULL AND c.pending IS NULL AND c.retired IS NULL
  WITH c, d, p, vector.similarity.cosine(p.embedding, $vectors[place]) AS score
  ORDER BY score DESC, p.id
  LIMIT $passages
  RETURN collect([c.id, d.title, p.start, p.end, 2 * score - 1]) AS rows
}
RETURN rows
ORDER BY place
