// The titles of the documents of a corpus up to a limit, all their tags, and the range of their dates.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting IS NULL
WITH d ORDER BY d.title
WITH collect(d) AS found
RETURN [d IN found[..$limit] | d.title] AS titles,
       COLLECT { UNWIND found AS d UNWIND d.tags AS tag RETURN DISTINCT tag ORDER BY tag } AS tags,
       COLLECT { UNWIND found AS d WITH d.date AS date WHERE date IS NOT NULL
                 RETURN DISTINCT date ORDER BY date } AS dates
