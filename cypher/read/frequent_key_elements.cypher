// The key elements of a corpus that are marked as frequent, with the number of their facts, as before
// any merge or join.
MATCH (k:KeyElement {corpus: $corpus, frequent: true})
RETURN k.id AS id, k.key AS key, k.name AS name,
       COUNT { (k)<-[r:HAS_KEY_ELEMENT]-() WHERE r.from IS NULL }
         + COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } AS facts
