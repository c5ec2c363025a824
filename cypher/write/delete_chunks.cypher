// Deletes chunks whose facts are deleted.
UNWIND $chunks AS id
MATCH (c:Chunk {id: id})
CALL (c) {
  OPTIONAL MATCH (corpus:Corpus {name: $corpus})
  SET corpus.updated = datetime()
  WITH c
  DETACH DELETE c
} IN TRANSACTIONS OF 500 ROWS
