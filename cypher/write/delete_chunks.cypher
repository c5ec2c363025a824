// Deletes chunks whose facts are deleted, with their passages.
UNWIND $chunks AS id
MATCH (c:Chunk {id: id})
CALL (c) {
  OPTIONAL MATCH (corpus:Corpus {name: $corpus})
  SET corpus.updated = datetime()
  WITH c
  OPTIONAL MATCH (c)-[:HAS_PASSAGE]->(p)
  DETACH DELETE p, c
} IN TRANSACTIONS OF 500 ROWS
