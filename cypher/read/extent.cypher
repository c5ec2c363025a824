// The number of documents of a corpus, the titles of the incomplete ones, and its chunk size in
// tokens.
MATCH (d:Document {corpus: $corpus})
RETURN count(d) AS documents,
       collect(CASE WHEN coalesce(d.complete, false) THEN null ELSE d.title END) AS titles,
       coalesce(max(d.chunk_tokens), 0) AS chunk_tokens
