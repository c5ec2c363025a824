// The number of key elements of a corpus, counted up to a limit and without merged ones.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.merged_into IS NULL
WITH k LIMIT $limit
RETURN count(k) AS number
