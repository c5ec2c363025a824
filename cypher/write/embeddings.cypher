// Stores vectors of key elements as lists of floats; `fresh` marks those that have to be compared
// with others.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = datetime()
WITH corpus
UNWIND $rows AS row
MATCH (k:KeyElement {id: row.id})
SET k.fresh = CASE WHEN row.fresh THEN true ELSE k.fresh END
WITH k, row
CALL db.create.setNodeVectorProperty(k, 'embedding', row.vector)
