// Lets the writers of one corpus wait for each other until the transaction ends: none can lock what
// another one needs while it waits for what that one has. Returns nothing where there is no corpus.
MATCH (c:Corpus {name: $corpus})
SET c.updated = datetime()
RETURN c.name AS corpus
