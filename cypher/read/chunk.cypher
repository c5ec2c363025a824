// One chunk in full, with the ids of the previous and the subsequent chunk, its first page number,
// the page starts in it, the heading at its start, and the headings in it.
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk {id: $id, corpus: $corpus})
OPTIONAL MATCH (p:Chunk)-[:NEXT]->(c)
OPTIONAL MATCH (c)-[:NEXT]->(s:Chunk)
WITH d, c, p, s, coalesce(d.page_starts, []) AS pages,
     coalesce(d.headings, []) AS headings, coalesce(d.heading_starts, []) AS starts
WITH *, size([start IN starts WHERE start <= c.start]) AS before,
     size([start IN starts WHERE start < c.end]) AS until
WITH *, CASE before WHEN 0 THEN 0 ELSE before - 1 END AS first
RETURN c.id AS id, c.index AS index, c.text AS text, c.tokens AS tokens, c.start AS start,
       d.id AS document_id, d.title AS document,
       size([start IN pages WHERE start <= c.start]) AS first_page,
       [start IN pages WHERE c.start < start AND start < c.end] AS page_starts,
       headings[first..until] AS headings, starts[first..until] AS heading_starts,
       p {.id, .index} AS previous, s {.id, .index} AS subsequent
