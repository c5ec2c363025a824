// How many key elements a corpus has.
MATCH (k:KeyElement {corpus: $corpus})
RETURN count(k) AS number
