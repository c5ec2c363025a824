// Key elements that were compared, by the names that they had; one that was renamed is so again.
UNWIND $elements AS row
MATCH (k:KeyElement {id: row.id})
WHERE k.name = row.name
REMOVE k.fresh
