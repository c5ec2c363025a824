// Says of key elements that their wordings are to be counted again.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id})
SET k.stale = true
