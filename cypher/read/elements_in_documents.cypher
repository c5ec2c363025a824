// Key elements as few documents have them, see elements_in_scope: all facts of these documents are gone
// through.
UNWIND $scope AS document
MATCH (:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->()
      -[r:HAS_KEY_ELEMENT]->(k)
WHERE k.id IN $ids
WITH k, r.surface AS surface, count(*) AS times, sum(CASE WHEN r.from IS NULL THEN 1 ELSE 0 END) AS own
ORDER BY own DESC, times DESC, surface
WITH k, collect(surface) AS surfaces, sum(times) AS facts
RETURN collect({id: k.id, name: surfaces[0], aliases: surfaces, facts: facts}) AS rows
