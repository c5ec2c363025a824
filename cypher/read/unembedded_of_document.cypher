// The key elements of a document that have no vector yet.
MATCH (:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->()
      -[:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k:KeyElement)
WHERE k.embedding IS NULL
RETURN DISTINCT k.id AS id, k.key AS key, k.name AS name
