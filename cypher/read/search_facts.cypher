// For each of some searches the facts that match its full-text queries, and the first facts of the
// documents whose titles match one for titles, in no order, since Lucene's scores depend on other
// corpora, too; the passages that match its queries of $passage_queries; and for each of its queries of
// $counted the chunks with a fact that matches it, among at most $most of such facts. Where only a part
// of the corpus is searched (see list_facts), up to $wide rows of an index are looked through, the best
// first, until there are enough. No row for a corpus whose facts are not indexed in any version.
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
      WHERE f.corpus = $corpus AND ($wide IS NULL OR EXISTS {
        MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
        WHERE ($scope IS NULL OR c.document IN $scope)
          AND (size($ranges) = 0
               OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
          AND ($since + $until = '' OR EXISTS {
            MATCH (own:Document {id: c.document})
            WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
              AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
          })
      })
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
      AND (size($ranges) = 0
           OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
      AND ($since + $until = '' OR EXISTS {
        MATCH (own:Document {id: c.document})
        WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
          AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
      })
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
    WHERE p.corpus = $corpus AND ($wide IS NULL OR EXISTS {
      MATCH (c)-[:HAS_PASSAGE]->(p)
      WHERE ($scope IS NULL OR c.document IN $scope)
        AND (size($ranges) = 0
             OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
        AND ($since + $until = '' OR EXISTS {
          MATCH (own:Document {id: c.document}), (c)-[:HAS_ATOMIC_FACT]->(f)
          WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
            AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
        })
    })
    RETURN p LIMIT $passages
  }
  WITH DISTINCT p
  MATCH (c:Chunk)-[:HAS_PASSAGE]->(p)
  WHERE c.pending IS NULL AND c.retired IS NULL
  MATCH (d:Document {id: c.document})
  RETURN collect([c.id, d.title, p.start, p.end, p.terms]) AS passages
}
CALL (place) {
  UNWIND range(0, size($counted[place]) - 1) AS at
  CALL (place, at) {
    CALL db.index.fulltext.queryNodes('graphreader_fact_terms', $counted[place][at],
         {limit: coalesce($wide, $most)})
    YIELD node AS f
    MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
    WHERE f.corpus = $corpus
      AND ($scope IS NULL OR c.document IN $scope)
      AND (size($ranges) = 0
           OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
      AND ($since + $until = '' OR EXISTS {
        MATCH (own:Document {id: c.document})
        WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
          AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
      })
    WITH c, f LIMIT $most
    WITH c, count(f) AS facts, c.pending IS NULL AND c.retired IS NULL AS stays
    RETURN coalesce(sum(facts), 0) AS facts, collect(CASE WHEN stays THEN c.id END) AS chunks
  }
  WITH at, facts, chunks ORDER BY at
  RETURN collect({facts: facts, chunks: chunks}) AS mentions
}
RETURN rows, passages, mentions
ORDER BY place
