// Stores by which version of the terms the facts and titles of a corpus are indexed.
MATCH (c:Corpus {name: $corpus})
SET c.terms = $terms
