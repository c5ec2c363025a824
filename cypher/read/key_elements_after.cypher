// The key elements of a corpus after a given one, in the order of their ids, with their vectors, up to
// a limit.
MATCH (k:KeyElement)
USING INDEX SEEK k:KeyElement(id)
WHERE k.id > $after AND k.corpus = $corpus
RETURN k.id AS id, k.key AS key, k.embedding AS embedding
ORDER BY id
LIMIT $limit
