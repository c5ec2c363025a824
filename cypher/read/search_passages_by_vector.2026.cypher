// The passages of a corpus nearest to each of some vectors, nearest first, filtered inside the index.
// No row for a corpus whose passages have no vectors.
CYPHER 25
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.passage_vectors
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  WITH $vectors[place] AS vector
  MATCH (p:Passage)
  SEARCH p IN (
    VECTOR INDEX graphreader_passage_embeddings FOR vector WHERE p.corpus = $corpus LIMIT $wide
  ) SCORE AS score
  MATCH (c:Chunk)-[:HAS_PASSAGE]->(p)
  WHERE c.pending IS NULL AND c.retired IS NULL
    AND ($scope IS NULL OR c.document IN $scope)
    AND (size($ranges) = 0
         OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
    AND ($since + $until = '' OR EXISTS {
      MATCH (own:Document {id: c.document}), (c)-[:HAS_ATOMIC_FACT]->(f)
      WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
        AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
    })
  MATCH (d:Document {id: c.document})
  WITH c, d, p, score
  ORDER BY score DESC, p.id
  LIMIT $passages
  RETURN collect([c.id, d.title, p.start, p.end, 2 * score - 1]) AS rows
}
RETURN rows
ORDER BY place
