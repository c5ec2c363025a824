// How many facts a corpus has.
MATCH (:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
RETURN coalesce(sum(COUNT { (c)-[:HAS_ATOMIC_FACT]->() }), 0) AS number
