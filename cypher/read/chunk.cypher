// One chunk in full, with references to the chunks before and after it, its first page number,
// the page starts in it, the heading at its start, and the headings in it.
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk {id: $id, corpus: $corpus})
WHERE $scope IS NULL OR d.id IN $scope
OPTIONAL MATCH (p:Chunk)-[:NEXT]->(c)
OPTIONAL MATCH (c)-[:NEXT]->(s:Chunk)
WITH d, c, p, s, coalesce(d.page_starts, []) AS pages,
     coalesce(d.headings, []) AS headings, coalesce(d.heading_starts, []) AS starts
WITH *, size([start IN starts WHERE start <= c.start]) AS before,
     size([start IN starts WHERE start < c.end]) AS until
WITH *, CASE before WHEN 0 THEN 0 ELSE before - 1 END AS first
RETURN c {
  .*, document: d.title, document_id: d.id, source: d.source,
  first_page: size([start IN pages WHERE start <= c.start]),
  page_starts: [start IN pages WHERE c.start < start AND start < c.end],
  headings: headings[first..until], heading_starts: starts[first..until],
  previous: p {.id, .index, .start, document: d.title, document_id: d.id},
  subsequent: s {.id, .index, .start, document: d.title, document_id: d.id}
} AS chunk
