// The number of key elements of a corpus that still have to be compared.
MATCH (k:KeyElement {corpus: $corpus, fresh: true})
RETURN count(k) AS fresh
