// For each of some chunks the heading at its start, and the facts right before some of its facts.
// The headings of a document are read once for all its chunks.
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id, corpus: $corpus})
WITH c.document AS document, collect({chunk: c, start: c.start, facts: row.facts}) AS rows
MATCH (d:Document {id: document})
WITH rows, coalesce(d.headings, []) AS headings, coalesce(d.heading_starts, []) AS starts
UNWIND rows AS row
WITH row, row.chunk AS c, headings, size([start IN starts WHERE start <= row.start]) AS ahead
CALL (row, c) {
  WITH row, c WHERE size(row.facts) > 0
  MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
  WHERE f.index + 1 IN row.facts
  RETURN collect([f.index + 1, f.text]) AS before
}
RETURN collect({
  id: c.id, heading: CASE WHEN ahead > 0 THEN headings[ahead - 1] END, before: before
}) AS rows
