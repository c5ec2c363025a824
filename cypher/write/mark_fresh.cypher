// Sets whether key elements still have to be compared with the others.
UNWIND $elements AS row
MATCH (k:KeyElement {id: row.id})
SET k.fresh = CASE WHEN row.fresh THEN true END
