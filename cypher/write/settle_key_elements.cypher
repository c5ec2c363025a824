// Counts the wordings of the stale key elements again: the most frequent one is the name, all of
// them are the aliases. To be run in a transaction of its own.
MATCH (k:KeyElement {stale: true})
WHERE k.corpus = $corpus
CALL (k) {
  MATCH (k)<-[r:HAS_KEY_ELEMENT]-()
  WITH k, r.surface AS surface, count(*) AS times
  ORDER BY times DESC, surface
  WITH k, collect(surface) AS surfaces
  SET k.name = surfaces[0], k.aliases = surfaces
  REMOVE k.stale
} IN TRANSACTIONS OF 1000 ROWS
