// The ids of the documents of a corpus.
MATCH (d:Document {corpus: $corpus})
RETURN d.id AS id
ORDER BY id
