// Locks key elements, by ids that must be in order, so that nobody waits in a ring; with `stale`
// their wordings are to be counted again.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id})
SET k.stale = CASE WHEN $stale THEN true ELSE k.stale END
