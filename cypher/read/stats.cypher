// Sizes of a corpus.
OPTIONAL MATCH (d:Document {corpus: $corpus})
WITH count(d) AS documents, collect(d) AS ds
CALL (ds) {
  UNWIND ds AS d
  MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
  RETURN count(c) AS chunks, coalesce(sum(c.tokens), 0) AS tokens,
         coalesce(sum(COUNT { (c)-[:HAS_ATOMIC_FACT]->() }), 0) AS facts
}
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  WITH COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS named
  RETURN count(*) AS key_elements, coalesce(avg(named), 0.0) AS facts_per_element,
         coalesce(max(named), 0) AS most_facts
}
RETURN documents, chunks, tokens, facts, key_elements, facts_per_element, most_facts
