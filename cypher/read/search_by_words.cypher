// The key elements of a corpus whose names hold words of a full-text query.
CALL db.index.fulltext.queryNodes('graphreader_key_element_words', $query, {limit: $wide})
YIELD node AS k, score
WHERE k.corpus = $corpus
RETURN k.id AS id, k.name AS name, score
ORDER BY score DESC, id
LIMIT $limit
