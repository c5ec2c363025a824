// One chunk in full, and the chunks right before and after it.
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk {id: $id, corpus: $corpus})
OPTIONAL MATCH (p:Chunk)-[:NEXT]->(c)
OPTIONAL MATCH (c)-[:NEXT]->(s:Chunk)
RETURN c.id AS id, c.index AS index, c.text AS text, c.start AS start, c.end AS end,
       d.id AS document_id, d.title AS document,
       p {.id, .index} AS previous, s {.id, .index} AS subsequent
