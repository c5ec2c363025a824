// Marks documents as complete: every chunk of theirs has its facts, every element its embedding.
MATCH (d:Document {corpus: $corpus})
WHERE d.id IN $documents
  AND NOT EXISTS { (d)-[:HAS_CHUNK]->(c:Chunk) WHERE c.error IS NOT NULL }
SET d.complete = true, d.updated = datetime()
