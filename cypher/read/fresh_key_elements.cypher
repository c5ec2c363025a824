// One page of the key elements of a corpus that still have to be compared with the others. ORDER BY
// names all properties of the index, so that the order comes from the index.
MATCH (k:KeyElement {corpus: $corpus, fresh: true})
USING INDEX SEEK k:KeyElement(corpus, fresh, id)
WHERE k.id > $after AND k.embedding IS NOT NULL
WITH k ORDER BY k.corpus, k.fresh, k.id LIMIT $limit
RETURN k.id AS id, k.key AS key, k.name AS name
