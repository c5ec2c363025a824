// How many key elements a corpus has, counted up to a limit; what is merged into another one counts
// no more.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.merged_into IS NULL
WITH k LIMIT $limit
RETURN count(k) AS number
