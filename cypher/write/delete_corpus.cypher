// Deletes a corpus that has no documents, and the runs that were kept of it.
MATCH (c:Corpus {name: $corpus})
WHERE NOT EXISTS { MATCH (:Document {corpus: $corpus}) }
OPTIONAL MATCH (r:Run {corpus: $corpus})
DETACH DELETE r, c
