// Those of some ids that are key elements: how facts word them, and what they are merged into.
UNWIND $ids AS id
MATCH (k:KeyElement {id: id})
RETURN id, coalesce(k.merged_into, id) AS node, COLLECT {
  MATCH (k)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-()
  WHERE r.from IS NULL AND r.linked IS NULL
  RETURN DISTINCT r.surface
} AS surfaces
