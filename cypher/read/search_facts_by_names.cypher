// For each of some full-text queries the facts of the key elements that match it, in no order. It
// serves corpora whose facts are not indexed. A merged key element is replaced by its target.
UNWIND range(0, size($queries) - 1) AS place
CALL (place) {
  CALL db.index.fulltext.queryNodes('graphreader_key_element_words', $queries[place],
       {limit: coalesce($wide, $titles)})
  YIELD node AS k
  WHERE k.corpus = $corpus
  OPTIONAL MATCH (a:KeyElement {id: k.merged_into})
  WITH DISTINCT coalesce(a, k) AS k
  WHERE EXISTS {
    (k)<-[:HAS_KEY_ELEMENT]-(f)
    WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
  }
  WITH k LIMIT $titles
  CALL (k) {
    MATCH (k)<-[:HAS_KEY_ELEMENT]-(f)
    WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
    RETURN f LIMIT $opening
  }
  WITH DISTINCT f
  MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f)
  WHERE c.pending IS NULL AND c.retired IS NULL
    AND ($scope IS NULL OR c.document IN $scope)
    AND (size($ranges) = 0
         OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
    AND ($since + $until = '' OR EXISTS {
      MATCH (own:Document {id: c.document})
      WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
        AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
    })
  MATCH (d:Document {id: c.document})
  RETURN collect([c.id, d.title, f.index, f.text]) AS rows
}
RETURN rows
ORDER BY place
