// Deletes a document whose chunks are gone.
MATCH (d:Document {id: $document})
DETACH DELETE d
