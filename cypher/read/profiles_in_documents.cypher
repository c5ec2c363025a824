// Profiles of key elements in few documents, see profiles: all facts of these documents are gone through.
UNWIND $scope AS document
MATCH (d:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->(f)
MATCH (f)-[:HAS_KEY_ELEMENT]->(k)
WHERE k.id IN $ids
WITH k, d.title AS title, collect(f.id) AS ids
ORDER BY title
WITH k, collect(title) AS titles, reduce(all = [], some IN collect(ids) | all + some) AS fact_ids
RETURN collect(k {
  .id, .name, .aliases, total: size(fact_ids), titles: titles[..$titles],
  fact_ids: CASE WHEN size(fact_ids) <= $compared THEN fact_ids ELSE [] END
}) AS rows
