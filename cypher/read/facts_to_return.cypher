// The facts that merges lead to other key elements, after a given one, in the order of their ids, up
// to a limit; also by a join into a merged key element.
CALL () {
  UNWIND $ids AS id
  MATCH (:KeyElement {id: id, corpus: $corpus})<-[:MERGED_KEY_ELEMENT]-(f:AtomicFact)
  WHERE f.id > $after
  RETURN f
UNION
  MATCH (d:Document {corpus: $corpus})
  WHERE any(into IN d.joined_into WHERE into IN $ids)
  UNWIND [i IN range(0, size(d.joined) - 1) WHERE d.joined_into[i] IN $ids | d.joined[i]] AS name
  MATCH (:KeyElement {id: name, corpus: $corpus})<-[:MERGED_KEY_ELEMENT]-(f:AtomicFact)
  WHERE f.id > $after AND EXISTS { (d)-[:HAS_CHUNK]->()-[:HAS_ATOMIC_FACT]->(f) }
  RETURN f
}
WITH DISTINCT f ORDER BY f.id LIMIT $limit
RETURN f.id AS id
