// The facts of a document in which a name is one of $ids, or does not mean its own key element.
MATCH (d:Document {id: $document, corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f)
WHERE EXISTS { (f)-[:MERGED_KEY_ELEMENT]->() }
   OR EXISTS { MATCH (f)-[r:HAS_KEY_ELEMENT]->(k) WHERE r.from IS NOT NULL OR k.id IN $ids }
RETURN f.id AS id
ORDER BY id
