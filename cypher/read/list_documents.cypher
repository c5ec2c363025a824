// A page of the documents of a corpus or of a part of it (see list_facts) in the order of their titles,
// with the numbers of their chunks and tokens, their headings with the levels, and the summary of the first
// chunk, or without one its first fact; and the number of all. With $words only those whose titles have
// all of these, in small letters.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting IS NULL AND ($scope IS NULL OR d.id IN $scope)
  AND all(word IN $words WHERE toLower(d.title) CONTAINS word)
  AND ($since + $until = '' OR EXISTS {
    MATCH (d)-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->(f)
    WHERE split(coalesce(f.when, d.date), '/')[0] <= $until + '~'
      AND split(coalesce(f.when, d.date), '/')[-1] + '~' >= $since
  })
WITH d ORDER BY d.title, d.id
WITH collect(d) AS found
RETURN size(found) AS total, COLLECT {
  UNWIND found[$skip..$skip + $limit] AS d
  CALL (d) {
    MATCH (d)-[:HAS_CHUNK]->(c)
    WHERE c.pending IS NULL AND c.retired IS NULL
    WITH c ORDER BY c.index
    WITH count(c) AS chunks, coalesce(sum(c.tokens), 0) AS tokens, head(collect(c)) AS first
    OPTIONAL MATCH (first)-[:HAS_ATOMIC_FACT]->(f {index: 0})
    RETURN chunks, tokens, left(coalesce(first.summary, f.text, ''), $characters) AS summary
  }
  WITH d, chunks, tokens, summary, coalesce(d.headings, []) AS headings
  RETURN [d.id, d.title, chunks, tokens,
          [headings, coalesce(d.heading_levels, [one IN headings | 1])], summary]
} AS rows
