// Key elements as extraction made them, before any merge, with the facts that name each.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id, corpus: $corpus})
RETURN id, k.key AS key, k.name AS name, COUNT {
  (k)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-() WHERE r.from IS NULL
} AS facts
