// How many documents a corpus has, the titles of those that are not complete, its largest chunk.
MATCH (d:Document {corpus: $corpus})
OPTIONAL MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
WITH d, max(c.tokens) AS largest
RETURN count(d) AS documents,
       collect(CASE WHEN coalesce(d.complete, false) THEN null ELSE d.title END) AS titles,
       coalesce(max(largest), 0) AS largest_chunk
