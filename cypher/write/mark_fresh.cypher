// Says of key elements whether they are still to be compared with the others.
UNWIND $elements AS row
MATCH (k:KeyElement {id: row.id})
SET k.fresh = CASE WHEN row.fresh THEN true END
