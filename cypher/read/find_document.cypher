// The documents of a corpus with a given id, path or title.
MATCH (d:Document {corpus: $corpus})
WHERE d.id = $name OR d.source IN $paths OR d.title = $name
RETURN d.id AS id, d.title AS title, d.source AS source
ORDER BY title, source
