// Documents with all that is known of them, the ids of their chunks, how many facts these have.
UNWIND $ids AS id
MATCH (d:Document {id: id})
WHERE d.deleting IS NULL
RETURN id, d.title AS title, d.source AS source, d.language AS language, d.sha256 AS sha256,
       coalesce(d.metadata, '{}') AS metadata, coalesce(d.page_starts, []) AS page_starts,
       coalesce(d.headings, []) AS headings, coalesce(d.heading_starts, []) AS heading_starts,
       d.chunk_tokens AS chunk_tokens, coalesce(d.complete, false) AS complete,
       coalesce(d.arranged, false) AS arranged,
       COLLECT { MATCH (d)-[:HAS_CHUNK]->(c:Chunk) RETURN c.id ORDER BY c.index, c.id } AS chunks,
       COUNT { (d)-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->() } AS facts
