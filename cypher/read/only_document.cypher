// The document of a corpus, or of a scope in it, that has only one; else no row.
MATCH (d:Document {corpus: $corpus})
WHERE $scope IS NULL OR d.id IN $scope
WITH d LIMIT 2
WITH collect(d.id) AS ids
WHERE size(ids) = 1
RETURN ids[0] AS id
