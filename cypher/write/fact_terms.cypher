// Stores the terms by which facts are searched.
UNWIND $rows AS row
MATCH (f:AtomicFact {id: row.id})
SET f.terms = row.terms
