// Writes the facts of chunks.
UNWIND $facts AS row
MATCH (c:Chunk {id: row.chunk})
MERGE (f:AtomicFact {id: row.id})
SET f.corpus = $corpus, f.text = row.text, f.index = row.index
MERGE (c)-[:HAS_ATOMIC_FACT]->(f)
