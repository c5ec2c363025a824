// The key elements of a corpus after a given one, in the order of their ids, up to a limit, with the
// wordings in which extraction gave them.
MATCH (k:KeyElement)
USING INDEX SEEK k:KeyElement(id)
WHERE k.id > $after AND k.corpus = $corpus
WITH k ORDER BY k.id LIMIT $limit
RETURN k.id AS id, k.key AS key, COLLECT {
  MATCH (k)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-()
  WHERE r.from IS NULL
  RETURN DISTINCT r.surface
} AS surfaces
ORDER BY id
