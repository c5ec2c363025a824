// Stores the merge targets of key elements; their facts are moved afterwards.
UNWIND $merges AS row
MATCH (a:KeyElement {id: row.into})
MATCH (b:KeyElement {id: row.id})
SET b.merged_into = a.id, b.merged_by = row.by
