// The number of tokens of the largest chunk of a corpus.
MATCH (:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
RETURN coalesce(max(c.tokens), 0) AS tokens
