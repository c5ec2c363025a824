// For each of some searches the facts that match its full-text queries, and the first facts of the
// documents whose titles match one for titles, in no order, since Lucene's scores depend on other
// corpora, too; the passages that match its queries of $passage_queries; and the number of all chunks
// with a fact that matches a query of $counted, if it is not empty, among at most $most of such
// facts. Where only a scope is searched, up to $wide rows of an index are looked through, the best first,
// until there are enough. No row for a corpus whose facts are not indexed in any version.
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.terms IS NOT NULL
UNWIND range(0, size($queries) - 1) AS place
CALL (place) {
  CALL (place) {
    UNWIND $queries[place] AS query
    CALL (query) {
      CALL db.index.fulltext.queryNodes('graphreader_fact_terms', query,
           {limit: coalesce($wide, $facts)})
      YIELD node AS f
      WITH f
      WHERE f.corpus = $corpus AND ($scope IS NULL
        OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope })
      RETURN f LIMIT $facts
    }
    RETURN f
  UNION
    CALL (place) {
      CALL db.index.fulltext.queryNodes('graphreader_title_terms', $title_queries[place],
           {limit: coalesce($wide, $titles)})
      YIELD node AS d
      WITH d
      WHERE d.corpus = $corpus AND ($scope IS NULL OR d.id IN $scope)
      RETURN d LIMIT $titles
    }
    MATCH (d)-[:HAS_CHUNK]->(c)
    WHERE c.index = 0
    MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
    WHERE f.index < $opening
    RETURN f
  }
  MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
  WHERE c.pending IS NULL AND c.retired IS NULL
  MATCH (d:Document {id: c.document})
  RETURN collect([c.id, d.title, f.index, f.terms]) AS rows
}
CALL (place, corpus) {
  WITH place WHERE corpus.passages
  UNWIND $passage_queries[place] AS query
  CALL (query) {
    CALL db.index.fulltext.queryNodes('graphreader_passage_terms', query,
         {limit: coalesce($wide, $passages)})
    YIELD node AS p
    WITH p
    WHERE p.corpus = $corpus AND ($scope IS NULL
      OR EXISTS { (p)<-[:HAS_PASSAGE]-(c) WHERE c.document IN $scope })
    RETURN p LIMIT $passages
  }
  WITH DISTINCT p
  MATCH (c:Chunk)-[:HAS_PASSAGE]->(p)
  WHERE c.pending IS NULL AND c.retired IS NULL
  MATCH (d:Document {id: c.document})
  RETURN collect([c.id, d.title, p.start, p.end, p.terms]) AS passages
}
CALL (place) {
  WITH place WHERE $counted[place] <> ''
  CALL (place) {
    CALL db.index.fulltext.queryNodes('graphreader_fact_terms', $counted[place],
         {limit: coalesce($wide, $most)})
    YIELD node AS f
    WITH f
    WHERE f.corpus = $corpus AND ($scope IS NULL
      OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope })
    RETURN f LIMIT $most
  }
  MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
  WHERE c.pending IS NULL AND c.retired IS NULL
  RETURN count(DISTINCT c) AS chunks, count(f) AS facts
}
RETURN rows, passages, chunks, facts
ORDER BY place
