// How the facts word the key elements of a corpus, a page of elements in order of their ids.
MATCH (k:KeyElement)
USING INDEX k:KeyElement(id)
WHERE k.id > $after AND k.corpus = $corpus
WITH k ORDER BY k.id LIMIT $limit
RETURN k.id AS id, COLLECT {
  MATCH (k)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-()
  WHERE r.from IS NULL AND r.linked IS NULL
  RETURN DISTINCT r.surface
} AS surfaces
ORDER BY id
