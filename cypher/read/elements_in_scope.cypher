// Key elements as the documents of a scope have them: the wordings of their facts there, the name first
// (as in write/settle_key_elements), and the number of these facts. A key element without any is left out.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
CALL (k) {
  MATCH (k)<-[r:HAS_KEY_ELEMENT]-()<-[:HAS_ATOMIC_FACT]-(c)
  WHERE c.document IN $scope
  WITH r.surface AS surface, count(*) AS times,
       sum(CASE WHEN r.from IS NULL THEN 1 ELSE 0 END) AS own
  ORDER BY own DESC, times DESC, surface
  RETURN collect(surface) AS surfaces, sum(times) AS facts
}
WITH k, surfaces, facts
WHERE facts > 0
RETURN collect({id: k.id, name: surfaces[0], aliases: surfaces, facts: facts}) AS rows
