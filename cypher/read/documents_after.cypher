// The documents of a corpus after a given one, in the order of their sources, up to a limit.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting IS NULL AND ($after IS NULL OR d.source > $after)
RETURN d.id AS id, d.source AS source
ORDER BY source
LIMIT $limit
