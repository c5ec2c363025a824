// Removes the NEXT links of a document before new ones are made.
MATCH (:Document {id: $document})-[:HAS_CHUNK]->(:Chunk)-[n:NEXT]->(:Chunk)
DELETE n
