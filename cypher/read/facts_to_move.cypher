// Facts that lead to merged key elements, and not yet to what these are merged into, up to a limit.
UNWIND $ids AS id
MATCH (b:KeyElement {id: id, corpus: $corpus})<-[:HAS_KEY_ELEMENT]-(f:AtomicFact)
WHERE b.merged_into IS NOT NULL
WITH DISTINCT f LIMIT $limit
RETURN f.id AS id
