// The documents of a corpus with facts of which none knows its sentences, as an earlier version wrote
// them, by title.
MATCH (d:Document {corpus: $corpus})
WHERE EXISTS { (d)-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->() } AND NOT EXISTS {
  MATCH (d)-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->(f) WHERE f.start IS NOT NULL
}
RETURN d.title AS title
ORDER BY title, d.id
