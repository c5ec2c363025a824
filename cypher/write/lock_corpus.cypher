// Locks a corpus until the transaction ends, so that its writers wait for each other instead of
// deadlocking. Returns no row if the corpus does not exist.
MATCH (c:Corpus {name: $corpus})
SET c.updated = datetime()
RETURN c.name AS corpus
