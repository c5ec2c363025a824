// Marks a document whose facts are led to the key elements that its names mean: by the rules or also by
// a model, or, with null, by none. Only documents with joins keep lists of them.
MATCH (d:Document {id: $document, corpus: $corpus})
WITH d, size(d.joined) > 0 AS has_joins
SET d.named = $named, d.joined = CASE WHEN has_joins THEN d.joined END,
    d.joined_into = CASE WHEN has_joins THEN d.joined_into END,
    d.joined_by = CASE WHEN has_joins THEN d.joined_by END
