// The documents of a corpus that an id, a path or a title may mean.
MATCH (d:Document {corpus: $corpus})
WHERE d.id = $name OR d.source IN $paths OR d.title = $name
RETURN d.id AS id, d.title AS title, d.source AS source
ORDER BY title, source
