// Stores vectors of key elements as lists of floats; `fresh` marks those that have to be compared
// with others.
UNWIND $rows AS row
MATCH (k:KeyElement {id: row.id})
SET k.fresh = CASE WHEN row.fresh THEN true ELSE k.fresh END
WITH k, row
CALL db.create.setNodeVectorProperty(k, 'embedding', row.vector)
