// The complete documents of a corpus that have headings, of which no chunk knows any.
MATCH (d:Document {corpus: $corpus})
WHERE d.complete AND size(d.headings) > 0 AND NOT EXISTS {
  MATCH (d)-[:HAS_CHUNK]->(c) WHERE c.heading_path IS NOT NULL
}
RETURN d.id AS id
ORDER BY id
