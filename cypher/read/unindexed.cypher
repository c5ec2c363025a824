// The titles and facts of documents whose terms are missing, or are of another version: theirs do not
// begin with the corpus's word.
UNWIND $documents AS id
MATCH (d:Document {id: id, corpus: $corpus})
CALL (d) {
  RETURN d AS node, d.title AS text
UNION ALL
  MATCH (d)-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->(f)
  RETURN f AS node, reduce(
    text = f.text, one IN [f.heading, f.speaker, f.when] | text + coalesce(' ' + one, '')
  ) AS text
}
WITH node, text
WHERE node.terms IS NULL OR NOT node.terms STARTS WITH $word
RETURN node.id AS id, labels(node)[0] AS label, text
