// For each of some searches the facts that match its full-text queries, and the first facts of the
// documents whose titles match one for titles, in no order, since Lucene's scores depend on other
// corpora, too; the passages that match its queries of $passage_queries; and the number of all chunks
// with a fact that matches a query of $counted, if it is not empty, among at most $most of such
// facts. No row for a corpus whose facts are not indexed in any version.
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.terms IS NOT NULL
UNWIND range(0, size($queries) - 1) AS place
CALL (place) {
  CALL (place) {
    UNWIND $queries[place] AS query
    CALL db.index.fulltext.queryNodes('graphreader_fact_terms', query, {limit: $facts})
    YIELD node AS f
    RETURN f
  UNION
    CALL db.index.fulltext.queryNodes('graphreader_title_terms', $title_queries[place],
         {limit: $titles})
    YIELD node AS d
    MATCH (d)-[:HAS_CHUNK]->(c)
    WHERE c.index = 0
    MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
    WHERE f.index < $opening
    RETURN f
  }
  MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.corpus = $corpus AND c.pending IS NULL AND c.retired IS NULL
  MATCH (d:Document {id: c.document})
  RETURN collect([c.id, d.title, f.index, f.terms]) AS rows
}
CALL (place, corpus) {
  WITH place WHERE corpus.passages
  UNWIND $passage_queries[place] AS query
  CALL db.index.fulltext.queryNodes('graphreader_passage_terms', query, {limit: $passages})
  YIELD node AS p
  WITH DISTINCT p
  MATCH (c:Chunk)-[:HAS_PASSAGE]->(p)
  WHERE p.corpus = $corpus AND c.pending IS NULL AND c.retired IS NULL
  MATCH (d:Document {id: c.document})
  RETURN collect([c.id, d.title, p.start, p.end, p.terms]) AS passages
}
CALL (place) {
  WITH place WHERE $counted[place] <> ''
  CALL db.index.fulltext.queryNodes('graphreader_fact_terms', $counted[place], {limit: $most})
  YIELD node AS f
  MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.corpus = $corpus AND c.pending IS NULL AND c.retired IS NULL
  RETURN count(DISTINCT c) AS chunks, count(f) AS facts
}
RETURN rows, passages, chunks, facts
ORDER BY place
