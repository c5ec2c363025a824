// The key elements of a corpus that more facts name than that, and those that are flagged as hubs.
MATCH (k:KeyElement {corpus: $corpus})
WITH k, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS facts
WHERE facts > $most OR k.hub
RETURN k.id AS id, k.name AS name, facts, coalesce(k.hub, false) AS hub
ORDER BY facts DESC, id
