// The corpus, if facts of it may be linked to what extraction did not list for them.
MATCH (c:Corpus {name: $corpus})
WHERE c.linked
RETURN c.name AS corpus
