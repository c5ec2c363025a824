// Counts the wordings of the stale key elements again: the most frequent own wording becomes the
// name, all of them are the aliases. A renamed key element is compared again. Runs in a transaction
// of its own.
MATCH (k:KeyElement {stale: true})
WHERE k.corpus = $corpus
CALL (k) {
  OPTIONAL MATCH (c:Corpus {name: $corpus})
  SET c.updated = datetime()
  WITH k
  MATCH (k)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-()
  WITH k, r.surface AS surface, count(*) AS times,
       sum(CASE WHEN r.from IS NULL THEN 1 ELSE 0 END) AS own
  ORDER BY own DESC, times DESC, surface
  WITH k, collect(surface) AS surfaces
  SET k.fresh = CASE WHEN k.name <> surfaces[0] THEN true ELSE k.fresh END,
      k.name = surfaces[0], k.aliases = surfaces
  REMOVE k.stale
} IN TRANSACTIONS OF 1000 ROWS
