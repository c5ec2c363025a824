// Key elements as extraction made them: the facts that name each, whatever is merged now.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id})
RETURN id, k.key AS key, k.name AS name, COUNT {
  (k)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-() WHERE r.from IS NULL AND r.linked IS NULL
} AS facts
