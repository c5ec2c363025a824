// The key elements of a corpus with at least so many facts, as before any merge.
MATCH (k:KeyElement {corpus: $corpus})
WHERE COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } + COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } >= $least
WITH k, COUNT {
  (k)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-() WHERE r.from IS NULL
} AS facts
WHERE facts >= $least
RETURN k.id AS id, k.key AS key, k.name AS name, facts
