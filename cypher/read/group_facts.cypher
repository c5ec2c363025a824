// How many facts of the base graph name any key element of each group.
UNWIND $groups AS row
MATCH (k:KeyElement {id: row.id})
CALL (row) {
  UNWIND row.members AS id
  MATCH (:KeyElement {id: id})<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-(f:AtomicFact)
  WHERE r.from IS NULL AND r.linked IS NULL
  RETURN count(DISTINCT f) AS facts
}
RETURN k.id AS id, k.name AS name, facts, coalesce(k.hub, false) AS hub
