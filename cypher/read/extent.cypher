// The number of documents of a corpus, or of a scope in it, the titles of the incomplete ones, and the
// chunk size in tokens.
MATCH (d:Document {corpus: $corpus})
WHERE $scope IS NULL OR d.id IN $scope
RETURN count(d) AS documents,
       collect(CASE WHEN coalesce(d.complete, false) THEN null ELSE d.title END) AS titles,
       coalesce(max(d.chunk_tokens), 0) AS chunk_tokens
