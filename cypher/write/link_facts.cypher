// Leads facts to key elements whose wording stands in them though extraction did not say so.
UNWIND $links AS row
MATCH (f:AtomicFact {id: row.fact})
MATCH (k:KeyElement {id: row.element})
MERGE (f)-[r:HAS_KEY_ELEMENT]->(k)
WITH r, row WHERE r.surface IS NULL
SET r.surface = row.surface, r.linked = true
