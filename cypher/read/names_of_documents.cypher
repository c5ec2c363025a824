// The names in the facts of documents as extraction gave them, with the wordings and their frequency.
UNWIND $documents AS document
MATCH (d:Document {id: document, corpus: $corpus})-[:HAS_CHUNK]->(c)-[:HAS_ATOMIC_FACT]->(f)
WHERE c.retired IS NULL
MATCH (f)-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(k)
WHERE r.from IS NULL
WITH document, k, r.surface AS surface, count(*) AS facts
ORDER BY document, k.id, surface
RETURN document, collect([k.id, k.key, surface, facts]) AS names
