// Stores vectors of key elements as lists of floats.
UNWIND $rows AS row
MATCH (k:KeyElement {id: row.id})
CALL db.create.setNodeVectorProperty(k, 'embedding', row.vector)
