// A page of the facts that name all of some key elements ($ids), or have the words of a full-text query
// ($query), or of all facts, among at most $most, in the order of the texts or, with $by_time, of their
// times. Here and in the other statements about a part of a corpus: $scope are the ids of its documents or
// null, $ranges are [document, first chunk, last chunk] or empty; a fact lies in the days from $since to
// $until if they overlap its time, and the time "2023-06" its days. '~' comes after digits and signs.
CALL () {
  WITH $ids AS ids WHERE size(ids) > 0
  MATCH (k:KeyElement {id: ids[0], corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f)
  WHERE all(id IN ids[1..] WHERE EXISTS { (f)-[:HAS_KEY_ELEMENT]->(:KeyElement {id: id}) })
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  RETURN c, f
UNION ALL
  WITH $query AS query WHERE query <> ''
  CALL db.index.fulltext.queryNodes('graphreader_fact_terms', query, {limit: $most})
  YIELD node AS f
  WHERE f.corpus = $corpus
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  RETURN c, f
UNION ALL
  WITH 1 AS every WHERE size($ids) = 0 AND $query = ''
  MATCH (d:Document {corpus: $corpus})
  WHERE $scope IS NULL OR d.id IN $scope
  MATCH (d)-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f)
  RETURN c, f
}
WITH c, f
WHERE c.pending IS NULL AND c.retired IS NULL
  AND ($scope IS NULL OR c.document IN $scope)
  AND (size($ranges) = 0
       OR any(r IN $ranges WHERE r[0] = c.document AND r[1] <= c.index <= r[2]))
  AND ($since + $until = '' OR EXISTS {
    MATCH (own:Document {id: c.document})
    WHERE split(coalesce(f.when, own.date), '/')[0] <= $until + '~'
      AND split(coalesce(f.when, own.date), '/')[-1] + '~' >= $since
  })
WITH c, f LIMIT $most
WITH c, f, CASE WHEN NOT $by_time THEN '' WHEN f.when IS NOT NULL THEN f.when ELSE
  head(COLLECT { MATCH (own:Document {id: c.document}) RETURN own.date }) END AS time
ORDER BY time, c.title, c.document, c.index, f.index
SKIP $skip LIMIT $limit
MATCH (d:Document {id: c.document})
WITH d, c, f, time ORDER BY time, c.title, c.document, c.index, f.index
RETURN collect({
  chunk: c {.id, .index, .start, .heading_path, document: d.title, document_id: d.id},
  fact: f {.id, .index, .text, .start, .end, .heading, .speaker, .when}
}) AS rows
