// One page of the normalized forms of the key elements of a corpus, in the order of their ids, as one
// list, and the last id: each page goes through the whole corpus, so it has many. SEEK, here and in the
// other statements: without it Neo4j may go through the index of all corpora if its statistics are old.
MATCH (k:KeyElement)
USING INDEX SEEK k:KeyElement(corpus)
WHERE k.id > $after AND k.corpus = $corpus
WITH k.id AS id, k.key AS key
ORDER BY id
LIMIT $limit
RETURN max(id) AS last, collect(key) AS keys
