// The key elements of a corpus that are still to be compared with the others, a page of them. All
// parts of the index stand in the order, so that it is that of the index.
MATCH (k:KeyElement {corpus: $corpus, fresh: true})
USING INDEX k:KeyElement(corpus, fresh, id)
WHERE k.id > $after AND k.embedding IS NOT NULL
WITH k ORDER BY k.corpus, k.fresh, k.id LIMIT $limit
RETURN k.id AS id, k.key AS key, k.name AS name
