// Stores the place of each function of a run. Deleted nodes are left out.
MATCH (r:Run {id: $id})
UNWIND $steps AS row
OPTIONAL MATCH (k:KeyElement {id: row.id, corpus: $corpus})
OPTIONAL MATCH (c:Chunk {id: row.id, corpus: $corpus})
WITH r, row, coalesce(k, c) AS place
WHERE place IS NOT NULL
CREATE (r)-[:STEP {path: row.path, number: row.number, function: row.name,
                   argument: row.argument, rationale: row.rationale}]->(place)
