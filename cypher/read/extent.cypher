// How many documents a corpus has, the titles of those that are not complete, how many tokens a chunk
// of it may have.
MATCH (d:Document {corpus: $corpus})
RETURN count(d) AS documents,
       collect(CASE WHEN coalesce(d.complete, false) THEN null ELSE d.title END) AS titles,
       coalesce(max(d.chunk_tokens), 0) AS chunk_tokens
