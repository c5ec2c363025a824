// A page of the documents of a corpus or of a part of it (see list_facts) in the order of their titles,
// with the numbers of their chunks and tokens, and the number of all; with $words only those whose titles have
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
    RETURN count(c) AS chunks, coalesce(sum(c.tokens), 0) AS tokens
  }
  RETURN [d.id, d.title, chunks, tokens]
} AS rows
