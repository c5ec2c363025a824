// Leads facts to the key elements that their names mean, from what extraction named: by the joins of
// their documents, then by the merges, without the merges of $parted. The extracted relationship of a
// name that means another key element is kept as MERGED_KEY_ELEMENT; `from` is the first such name of
// a fact that does not name the other itself. It can be repeated.
UNWIND $facts AS id
MATCH (c:Chunk)-[:HAS_ATOMIC_FACT]->(f:AtomicFact {id: id})
MATCH (d:Document {id: c.document})
CALL (f) {
  MATCH (f)-[s:HAS_KEY_ELEMENT]->(k)
  WHERE s.from IS NOT NULL
  SET k.stale = true
  DELETE s
}
WITH d, f
CALL (d, f) {
  MATCH (f)-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(b:KeyElement)
  WITH d, r, b, CASE WHEN NOT b.id IN $parted THEN b.merged_into END AS merged,
       range(0, size(coalesce(d.joined, [])) - 1) AS places
  WITH r, b, merged, coalesce(head([i IN places WHERE d.joined[i] = b.id | d.joined_into[i]]),
       head([i IN places WHERE d.joined[i] = merged | d.joined_into[i]])) AS joined
  OPTIONAL MATCH (n:KeyElement {id: coalesce(joined, merged)})
  WITH r, b, coalesce(n, b) AS n
  OPTIONAL MATCH (a:KeyElement {id: n.merged_into})
  WITH r, b, CASE WHEN n.id IN $parted OR a IS NULL THEN n ELSE a END AS means
  ORDER BY b.id
  RETURN collect({name: b, means: means, link: r, surface: r.surface, kept: type(r)}) AS names
}
CALL (f, names) {
  UNWIND names AS one
  WITH f, one, one.name AS b, one.link AS r
  WHERE one.means = b AND one.kept = 'MERGED_KEY_ELEMENT'
  CREATE (f)-[:HAS_KEY_ELEMENT {surface: one.surface}]->(b)
  SET b.stale = true
  DELETE r
}
CALL (f, names) {
  UNWIND names AS one
  WITH f, one, one.name AS b, one.link AS r
  WHERE one.means <> b AND one.kept = 'HAS_KEY_ELEMENT'
  CREATE (f)-[:MERGED_KEY_ELEMENT {surface: one.surface}]->(b)
  SET b.stale = true
  DELETE r
}
CALL (f, names) {
  UNWIND names AS one
  WITH f, names, one, one.means AS k
  WHERE k <> one.name AND NOT any(other IN names WHERE other.name = k AND other.means = k)
  WITH f, k, collect(one)[0] AS first
  CREATE (f)-[:HAS_KEY_ELEMENT {surface: first.surface, from: first.name.id}]->(k)
  SET k.stale = true
}
RETURN count(*) AS moved
