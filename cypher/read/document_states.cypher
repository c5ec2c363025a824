// The status of documents; no row for a document that does not exist.
UNWIND $documents AS id
MATCH (d:Document {id: id, corpus: $corpus})
RETURN d.id AS id, d.sha256 AS sha256, d.title AS title, d.metadata AS metadata,
       coalesce(d.encoding, '') AS encoding,
       d.chunk_tokens AS chunk_tokens, coalesce(d.complete, false) AS complete,
       d.arranged IS NOT NULL AS arranged, coalesce(d.deleting, false) AS deleting,
       COUNT { (d)-[:HAS_CHUNK]->() } AS chunks,
       CASE WHEN d.complete THEN 0 ELSE COUNT {
         (d)-[:HAS_CHUNK]->(c:Chunk) WHERE c.retired IS NULL AND c.error IS NULL
       } END AS read_chunks
