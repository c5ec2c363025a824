// The first chunks of a corpus or of a part of it (see list_facts) in the order of their documents'
// titles, without their text, as lists: id, document's id, index, tokens. Of days are the chunks with a
// fact whose time overlaps them.
MATCH (d:Document {corpus: $corpus})
WHERE $scope IS NULL OR d.id IN $scope
WITH d ORDER BY d.title, d.source
MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
WHERE c.pending IS NULL AND c.retired IS NULL
  AND (size($ranges) = 0 OR any(r IN $ranges WHERE r[0] = d.id AND r[1] <= c.index <= r[2]))
  AND ($since + $until = '' OR EXISTS {
    MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
    WHERE split(coalesce(f.when, d.date), '/')[0] <= $until + '~'
      AND split(coalesce(f.when, d.date), '/')[-1] + '~' >= $since
  })
WITH d, c ORDER BY d.title, d.source, c.index LIMIT $limit
RETURN collect([c.id, d.id, c.index, c.tokens]) AS rows
