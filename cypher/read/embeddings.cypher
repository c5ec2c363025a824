// The vectors of a corpus's key elements, a page of them in order of their ids.
MATCH (k:KeyElement)
USING INDEX k:KeyElement(id)
WHERE k.id > $after AND k.corpus = $corpus AND k.embedding IS NOT NULL
WITH k ORDER BY k.id LIMIT $limit
RETURN k.id AS id, k.key AS key, k.name AS name, k.embedding AS embedding
ORDER BY id
