// The facts of a corpus nearest to each of some vectors, nearest first, filtered inside the index. No
// row for a corpus whose facts have no vectors.
CYPHER 25
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.fact_vectors
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  WITH $vectors[place] AS vector
  MATCH (f:AtomicFact)
  SEARCH f IN (
    VECTOR INDEX graphreader_fact_embeddings FOR vector WHERE f.corpus = $corpus LIMIT $wide
  ) SCORE AS score
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
