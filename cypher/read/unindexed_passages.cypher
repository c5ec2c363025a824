// The chunks of documents that have no passages, or passages whose terms are missing or of another
// version: theirs do not begin with the corpus's word.
UNWIND $documents AS document
MATCH (d:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->(c)
WHERE NOT EXISTS { (c)-[:HAS_PASSAGE]->() } OR EXISTS {
  MATCH (c)-[:HAS_PASSAGE]->(p)
  WHERE p.terms IS NULL OR NOT p.terms STARTS WITH $word
}
RETURN c {.*, document: d.title, document_id: d.id} AS chunk
