// How many documents a corpus has, and the titles of those that are not complete.
MATCH (d:Document {corpus: $corpus})
RETURN count(d) AS documents,
       collect(CASE WHEN coalesce(d.complete, false) THEN null ELSE d.title END) AS titles
