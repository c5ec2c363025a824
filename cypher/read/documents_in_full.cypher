// Documents with all their properties and the ids of their chunks. Chunks that are being deleted are
// left out.
UNWIND $ids AS id
MATCH (d:Document {id: id, corpus: $corpus})
WHERE d.deleting IS NULL
RETURN id, d.title AS title, d.source AS source, d.language AS language, d.sha256 AS sha256,
       coalesce(d.metadata, '{}') AS metadata, coalesce(d.encoding, '') AS encoding,
       coalesce(d.tags, []) AS tags, coalesce(d.date, '') AS date, coalesce(d.tagged, false) AS tagged, coalesce(d.page_starts, []) AS page_starts,
       coalesce(d.headings, []) AS headings, coalesce(d.heading_starts, []) AS heading_starts,
       coalesce(d.heading_levels, [h IN d.headings | 1], []) AS heading_levels,
       d.chunk_tokens AS chunk_tokens, coalesce(d.complete, false) AS complete,
       coalesce(d.asked_names, '') AS asked_names,
       COLLECT {
         UNWIND range(0, size(coalesce(d.joined, [])) - 1) AS i
         MATCH (k:KeyElement {id: d.joined[i]})
         MATCH (n:KeyElement {id: d.joined_into[i]})
         RETURN [k.key, n.key, d.joined_by[i]] ORDER BY k.key
       } AS joins,
       COLLECT {
         MATCH (d)-[:HAS_CHUNK]->(c:Chunk) WHERE c.retired IS NULL
         RETURN c.id ORDER BY c.index, c.id
       } AS chunks
