// The documents whose delete was cut off.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting
RETURN d.id AS id
