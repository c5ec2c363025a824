// The facts of all corpora nearest to each of some vectors, nearest first; those of the corpus are
// kept, and the caller asks for more if too few remain. No row for a corpus whose facts have no
// vectors.
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.fact_vectors
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  CALL db.index.vector.queryNodes('graphreader_fact_embeddings', $wide, $vectors[place])
  YIELD node AS f, score
  WHERE f.corpus = $corpus
  MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
  WHERE c.pending IS NULL AND c.retired IS NULL
  MATCH (d:Document {id: c.document})
  WITH c, d, f, score
  ORDER BY score DESC, f.id
  LIMIT $facts
  RETURN collect([c.id, d.title, f.index, f.terms, 2 * score - 1]) AS rows
}
RETURN rows
ORDER BY place
