// Writes key elements in the order of their ids, so that writers side by side do not wait in a ring.
UNWIND $elements AS row
MERGE (k:KeyElement {id: row.id})
ON CREATE SET k.corpus = $corpus, k.key = row.key, k.name = row.surface, k.aliases = [row.surface]
SET k.stale = true
