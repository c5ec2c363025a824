// How a corpus was made; no row if it does not exist.
MATCH (c:Corpus {name: $corpus})
RETURN c.decider AS decider, c.prompts AS prompts, c.embedding AS embedding,
       c.dimension AS dimension, c.terms AS terms, coalesce(c.passages, false) AS passages
