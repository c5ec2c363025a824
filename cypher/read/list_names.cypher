// A page of the key elements of a corpus or of a part of it (see list_facts), those with the most facts
// first, and the number of all, at most $most; with a full-text query ($query) only its matches. A merged
// one is replaced by its target.
CALL () {
  WITH 1 AS whole
  WHERE $query = '' AND $scope IS NULL AND size($ranges) = 0 AND $since + $until = ''
  MATCH (k:KeyElement {corpus: $corpus})
  WHERE k.merged_into IS NULL
  RETURN k, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS facts
UNION ALL
  WITH 1 AS part
  WHERE $query = '' AND NOT ($scope IS NULL AND size($ranges) = 0 AND $since + $until = '')
  MATCH (d:Document {corpus: $corpus})
  WHERE $scope IS NULL OR d.id IN $scope
  MATCH (d)-[:HAS_CHUNK]->(c)
  WHERE c.pending IS NULL AND c.retired IS NULL
    AND (size($ranges) = 0
         OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  WHERE $since + $until = '' OR (
    split(coalesce(f.when, d.date), '/')[0] <= $until + '~'
    AND split(coalesce(f.when, d.date), '/')[-1] + '~' >= $since
  )
  MATCH (f)-[:HAS_KEY_ELEMENT]->(k)
  RETURN k, count(*) AS facts
UNION ALL
  WITH $query AS query WHERE query <> ''
  CALL db.index.fulltext.queryNodes('graphreader_key_element_words', query, {limit: $most})
  YIELD node AS k
  WHERE k.corpus = $corpus
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH DISTINCT coalesce(a, k) AS k
  RETURN k, COUNT {
    MATCH (k)<-[:HAS_KEY_ELEMENT]-(f)<-[:HAS_ATOMIC_FACT]-(c)
    WHERE ($scope IS NULL OR c.document IN $scope)
      AND (size($ranges) = 0
           OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
      AND ($since + $until = '' OR EXISTS {
        MATCH (own:Document {id: c.document})
        WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
          AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
      })
  } AS facts
}
WITH k, facts
WHERE facts > 0
ORDER BY facts DESC, k.name, k.id LIMIT $most
WITH collect([k, facts]) AS found
RETURN size(found) AS total, COLLECT {
  UNWIND found[$skip..$skip + $limit] AS one
  WITH one[0] AS k, one[1] AS facts
  RETURN k {.id, .name, facts: facts}
} AS rows
