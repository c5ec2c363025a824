// Takes the chain of a document's chunks apart, before it is made anew.
MATCH (:Document {id: $document})-[:HAS_CHUNK]->(:Chunk)-[n:NEXT]->(:Chunk)
DELETE n
