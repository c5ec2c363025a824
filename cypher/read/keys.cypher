// One page of the normalized forms of the key elements of a corpus, in the order of their ids.
MATCH (k:KeyElement)
USING INDEX k:KeyElement(corpus)
WHERE k.id > $after AND k.corpus = $corpus
RETURN k.id AS id, k.key AS key
ORDER BY id
LIMIT $limit
