// Chunks in full, by their ids, with the dates of their documents, each with some of its facts: by their
// indexes, or between `start` and `end`, which are `near`. A fact whose sentences are not known is placed
// by its index, as facts have the order of the text.
UNWIND range(0, size($hits) - 1) AS place
WITH place, $hits[place] AS row
MATCH (d:Document)-[:HAS_CHUNK]->(c:Chunk {id: row.id, corpus: $corpus})
WHERE $scope IS NULL OR d.id IN $scope
WITH place, row, d, c, COUNT { (c)-[:HAS_ATOMIC_FACT]->() } AS number
RETURN collect({
  place: place, date: d.date,
  chunk: c {.*, document: d.title, document_id: d.id, source: d.source},
  facts: COLLECT {
    MATCH (c)-[:HAS_ATOMIC_FACT]->(f)
    WITH f, row.start <= coalesce(f.start, f.index * (c.end - c.start) / number) < row.end AS near
    WHERE near OR f.index IN row.facts
    RETURN f {.id, .index, .text, .start, .end, .heading, .speaker, .when, near: near}
    ORDER BY f.index
  }
}) AS rows
