// Says which key elements a fact is about, and how it words them.
UNWIND $links AS row
MATCH (k:KeyElement {id: row.element})
MATCH (f:AtomicFact {id: row.fact})
MERGE (f)-[r:HAS_KEY_ELEMENT]->(k)
ON CREATE SET r.surface = row.surface
