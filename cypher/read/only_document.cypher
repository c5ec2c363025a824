// The document of a corpus that has only one; else no row.
MATCH (d:Document {corpus: $corpus})
WITH d LIMIT 2
WITH collect(d.id) AS ids
WHERE size(ids) = 1
RETURN ids[0] AS id
