// Says by what a corpus is embedded from now on.
MATCH (c:Corpus {name: $corpus})
SET c.embedding = $embedding, c.dimension = $dimension
