// A document whose deletion has begun, if there is one.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting
RETURN d.id AS id
LIMIT 1
