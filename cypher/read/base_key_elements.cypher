// Key elements as extraction made them, before any merge or join, with the number of the facts that name
// each.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
RETURN id, k.key AS key, k.name AS name,
       COUNT { (k)<-[r:HAS_KEY_ELEMENT]-() WHERE r.from IS NULL }
         + COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } AS facts
