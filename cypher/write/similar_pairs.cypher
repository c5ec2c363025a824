// Stores pairs of similar key elements with their cosine.
UNWIND $pairs AS row
MATCH (a:KeyElement {id: row.a})
MATCH (b:KeyElement {id: row.b})
MERGE (a)-[l:LIKE]->(b)
SET l.score = row.score
