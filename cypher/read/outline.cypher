// The first chunks of a document in their order, each with its summary, or without one with its
// longest of its first facts or the beginning of its text; and the headings of the document.
MATCH (d:Document {id: $document, corpus: $corpus})
WHERE $scope IS NULL OR d.id IN $scope
CALL (d) {
  MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
  WHERE c.pending IS NULL AND c.retired IS NULL
  WITH c ORDER BY c.index LIMIT $limit
  CALL (c) {
    WITH c WHERE c.summary IS NULL
    MATCH (c)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
    WITH f ORDER BY f.index LIMIT 10
    WITH f ORDER BY size(f.text) DESC LIMIT 1
    RETURN collect(f.text) AS facts
  }
  RETURN collect({
    chunk: c.index, start: c.start, end: c.end, tokens: c.tokens,
    summary: left(coalesce(c.summary, head(facts), c.text), $characters)
  }) AS chunks
}
RETURN coalesce(d.headings, []) AS headings, coalesce(d.heading_starts, []) AS starts, chunks
