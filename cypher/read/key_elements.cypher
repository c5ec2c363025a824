// The key elements of a corpus, those with the most facts first, without those that are joined into
// others in all of their facts.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.merged_into IS NULL AND EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() }
RETURN k.id AS id, k.name AS name, COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS facts
ORDER BY facts DESC, name
LIMIT $limit
