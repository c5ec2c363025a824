// How a corpus was made; nothing where there is none.
MATCH (c:Corpus {name: $corpus})
RETURN c.decider AS decider, c.prompts AS prompts, c.embedding AS embedding,
       c.dimension AS dimension
