// How many tokens the largest chunk of a corpus has.
MATCH (:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
RETURN coalesce(max(c.tokens), 0) AS tokens
