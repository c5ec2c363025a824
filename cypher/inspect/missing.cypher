// missing: chunks without facts, key elements without an embedding
// :param corpus => 'demo'
CALL () {
  MATCH (:Document {corpus: $corpus})-[:HAS_CHUNK]->(c:Chunk)
  RETURN count(c) AS chunks, count(c['error']) AS failed_chunks, collect(c['error'])[..3] AS errors
}
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  RETURN count(k) AS key_elements, count(k) - count(k.embedding) AS without_embedding,
         count(k.stale) AS to_be_settled
}
RETURN chunks, failed_chunks, errors, key_elements, without_embedding, to_be_settled;
