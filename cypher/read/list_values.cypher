// A page of the speakers of facts ($property: 'speaker'), those with the most facts first, or of their
// times ('when') in order, each with the number of its facts and of their chunks; and the number of
// all values, of their facts and of all facts. `first` and `last` are the ends of all values in their
// order. Of a corpus or of a part of it (see list_facts).
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
WITH c, 
     coalesce(f[$property], CASE WHEN $property = 'when' THEN d.date END, '') AS value, count(*) AS own
WITH value, sum(own) AS facts, count(*) AS chunks
WITH collect({value: value, facts: facts, chunks: chunks}) AS every, sum(facts) AS of
CALL (every) {
  UNWIND every AS one
  WITH one WHERE one.value <> ''
  // Years before Christ begin with a minus.
  WITH one, CASE WHEN $property <> 'when' THEN -one.facts
                 WHEN one.value STARTS WITH '-' THEN -toInteger(substring(one.value, 1, 4))
                 ELSE toInteger(left(one.value, 4)) END AS rank
  ORDER BY rank, one.value
  RETURN collect(one) AS found
}
RETURN size(found) AS total, of, reduce(sum = 0, one IN found | sum + one.facts) AS facts,
       found[0].value AS first, found[-1].value AS last,
       [one IN found[$skip..$skip + $limit] | [one.value, one.facts, one.chunks]] AS rows
