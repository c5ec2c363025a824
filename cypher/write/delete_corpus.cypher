// Deletes a corpus without documents, and its kept runs.
MATCH (c:Corpus {name: $corpus})
WHERE NOT EXISTS { MATCH (:Document {corpus: $corpus}) }
OPTIONAL MATCH (r:Run {corpus: $corpus})
OPTIONAL MATCH (r)-[:HAS_PATH]->()-[:NEXT_STEP*0..]->(step)
DETACH DELETE r, c, step
