// The passages of a corpus, or of a scope in it, nearest to each of some vectors, nearest first, by
// comparison with all of them. No row for a corpus whose passages have no vectors.
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.passage_vectors
UNWIND range(0, size($vectors) - 1) AS place
CALL (place) {
  CALL () {
    WITH 1 AS whole
    WHERE $scope IS NULL
    MATCH (d:Document {corpus: $corpus})
    RETURN d
  UNION ALL
    UNWIND $scope AS id
    MATCH (d:Document {id: id, corpus: $corpus})
    RETURN d
  }
  MATCH (d)-[:HAS_CHUNK]->(c)-[:HAS_PASSAGE]->(p)
  WHERE p.embedding IS NOT NULL AND c.pending IS NULL AND c.retired IS NULL
    AND (size($ranges) = 0
         OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
    AND ($since + $until = '' OR EXISTS {
      MATCH (own:Document {id: c.document}), (c)-[:HAS_ATOMIC_FACT]->(f)
      WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
        AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
    })
  WITH c, d, p, vector.similarity.cosine(p.embedding, $vectors[place]) AS score
  ORDER BY score DESC, p.id
  LIMIT $passages
  RETURN collect([c.id, d.title, p.start, p.end, 2 * score - 1]) AS rows
}
RETURN rows
ORDER BY place
