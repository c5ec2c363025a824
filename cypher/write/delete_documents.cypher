// Deletes the documents whose deletion has begun and whose chunks are deleted.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting AND NOT EXISTS { (d)-[:HAS_CHUNK]->() }
DETACH DELETE d
