// The chunks of a corpus, or of a part of it (see list_facts), with a passage that matches a full-text
// query ($query), at most $most; without a query, or where chunks have no passages, any chunks.
MATCH (corpus:Corpus {name: $corpus})
CALL (corpus) {
  WITH corpus WHERE corpus.passages AND $query <> ''
  CALL db.index.fulltext.queryNodes('graphreader_passage_terms', $query)
  YIELD node AS p
  WHERE p.corpus = $corpus
  MATCH (c)-[:HAS_PASSAGE]->(p)
  RETURN DISTINCT c
UNION ALL
  WITH corpus WHERE corpus.passages IS NULL OR $query = ''
  MATCH (d:Document {corpus: $corpus})
  WHERE $scope IS NULL OR d.id IN $scope
  MATCH (d)-[:HAS_CHUNK]->(c)
  RETURN c
}
WITH c
WHERE c.pending IS NULL AND c.retired IS NULL
  AND ($scope IS NULL OR c.document IN $scope)
  AND (size($ranges) = 0
       OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
  AND ($since + $until = '' OR EXISTS {
    MATCH (own:Document {id: c.document}), (c)-[:HAS_ATOMIC_FACT]->(f)
    WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
      AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
  })
WITH c LIMIT $most
MATCH (d:Document {id: c.document})
RETURN d.id AS id, d.title AS title, c.index AS index, c.text AS text ORDER BY index
