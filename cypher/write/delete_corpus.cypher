// Deletes a corpus that has no documents.
MATCH (c:Corpus {name: $corpus})
WHERE NOT EXISTS { MATCH (:Document {corpus: $corpus}) }
DETACH DELETE c
