// Stores the terms by which the titles of documents are searched.
UNWIND $rows AS row
MATCH (d:Document {id: row.id})
SET d.terms = row.terms
