// Marks key elements as compared if they still have the given name: a renamed one is compared
// again.
UNWIND $elements AS row
MATCH (k:KeyElement {id: row.id})
WHERE k.name = row.name
REMOVE k.fresh
