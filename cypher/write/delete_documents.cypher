// Deletes the documents whose delete was begun and whose chunks are gone.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting AND NOT EXISTS { (d)-[:HAS_CHUNK]->() }
DETACH DELETE d
