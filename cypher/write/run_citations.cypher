// Stores the citations of a run's answer. Deleted chunks are left out.
MATCH (r:Run {id: $id})
UNWIND $citations AS row
MATCH (d:Document {id: row.document_id, corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk {index: row.chunk})
WHERE c.retired IS NULL
CREATE (r)-[:CITED {number: row.number, start: row.start, end: row.end, quote: row.quote,
                    claims: row.claims}]->(c)
