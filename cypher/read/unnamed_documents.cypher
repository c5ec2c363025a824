// The documents of a corpus whose names are to be joined, or parted again, since their chunks or the
// stages changed: all that are not marked so, or, with $parted, all that have joins.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting IS NULL
  AND CASE WHEN $parted THEN d.joined IS NOT NULL OR d.named IS NOT NULL ELSE d.named IS NULL OR NOT d.named IN $enough END
RETURN d.id AS id, d.title AS title, coalesce(d.joined, []) AS joined, coalesce(d.joined_into, []) AS joined_into,
       coalesce(d.joined_by, []) AS joined_by, d.joined IS NULL AS is_base, d.asked_names AS asked
ORDER BY id
