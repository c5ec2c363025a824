// The numbers of the facts that name all of some key elements ($ids), or have the words of a full-text
// query ($query), or of all facts, by document, and of their chunks; among at most $most facts. The first
// $documents documents, most facts first, are named. Of a corpus or of a part of it (see list_facts).
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
WITH c, count(f) AS number
WITH c.document AS id, sum(number) AS number, count(c) AS parts
MATCH (d:Document {id: id})
WITH d, number, parts ORDER BY number DESC, d.title, d.id
WITH collect([d.id, d.title, number, parts]) AS found, sum(number) AS facts, sum(parts) AS chunks
RETURN facts, chunks, size(found) AS documents, found[..$documents] AS rows
