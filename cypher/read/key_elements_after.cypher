// The key elements of a corpus after a given one, in the order of their ids, with their vectors and
// stored similar pairs, up to a limit.
MATCH (k:KeyElement)
USING INDEX k:KeyElement(id)
WHERE k.id > $after AND k.corpus = $corpus
WITH k ORDER BY k.id LIMIT $limit
RETURN k.id AS id, k.key AS key, k.embedding AS embedding, coalesce(k.fresh, false) AS fresh,
       COLLECT { MATCH (k)-[l:LIKE]->(o:KeyElement) RETURN [o.key, l.score] ORDER BY o.id } AS likes
ORDER BY id
