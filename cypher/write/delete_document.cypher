// Deletes a document whose chunks are gone.
MATCH (d:Document {id: $document})
WHERE NOT EXISTS { (d)-[:HAS_CHUNK]->() }
DETACH DELETE d
RETURN count(d) AS deleted
