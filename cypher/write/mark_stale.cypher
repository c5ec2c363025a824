// Marks key elements whose wordings have to be counted again.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id})
SET k.stale = true
