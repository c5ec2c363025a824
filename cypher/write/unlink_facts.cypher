// Takes links away that do not hold any more.
UNWIND $links AS row
MATCH (f:AtomicFact {id: row.fact})-[r:HAS_KEY_ELEMENT]->(k:KeyElement {id: row.element})
WHERE r.linked
DELETE r
