// The documents of a corpus with their chunks in order, from which the texts are joined. A document
// whose chunks are not in order yet is left out.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting IS NULL AND d.arranged IS NOT NULL AND ($scope IS NULL OR d.id IN $scope)
MATCH (d)-[:HAS_CHUNK]->(c)
WHERE c.pending IS NULL AND c.retired IS NULL
WITH d, c ORDER BY c.index
WITH d, collect(c {.text, .start, .place_starts, .place_names}) AS chunks ORDER BY d.title, d.id
RETURN d {.id, .title, .source, .sha256, .language} AS document, chunks,
  coalesce(d.page_starts, []) AS page_starts, coalesce(d.heading_starts, []) AS heading_starts,
  coalesce(d.headings, []) AS headings,
  coalesce(d.heading_levels, [h IN d.headings | 1], []) AS heading_levels
