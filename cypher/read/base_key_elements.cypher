// Key elements as extraction made them, before any merge, with the number of the facts that name each.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
RETURN id, k.key AS key, k.name AS name, CASE
  WHEN EXISTS { MATCH (b:KeyElement {corpus: $corpus, merged_into: id}) }
  THEN COUNT { (k)<-[r:HAS_KEY_ELEMENT]-() WHERE r.from IS NULL }
  ELSE COUNT { (k)<-[:HAS_KEY_ELEMENT]-() }
END + COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } AS facts
