// Creates a corpus unless it exists, and returns how it was made.
MERGE (c:Corpus {name: $corpus})
ON CREATE SET c += $record, c.created = datetime()
RETURN c.decider AS decider, c.prompts AS prompts, c.embedding AS embedding,
       c.dimension AS dimension
