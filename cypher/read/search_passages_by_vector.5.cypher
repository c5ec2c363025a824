// The passages of all corpora nearest to each of some vectors, nearest first; those of the corpus are
// kept, and the caller asks for more if too few remain. No row for a corpus whose passages have none.
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.passage_vectors
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  CALL db.index.vector.queryNodes('graphreader_passage_embeddings', $wide, $vectors[place])
  YIELD node AS p, score
  WHERE p.corpus = $corpus
  MATCH (c:Chunk)-[:HAS_PASSAGE]->(p)
  WHERE c.pending IS NULL AND c.retired IS NULL
    AND ($scope IS NULL OR c.document IN $scope)
  MATCH (d:Document {id: c.document})
  WITH c, d, p, score
  ORDER BY score DESC, p.id
  LIMIT $passages
  RETURN collect([c.id, d.title, p.start, p.end, 2 * score - 1]) AS rows
}
RETURN rows
ORDER BY place
