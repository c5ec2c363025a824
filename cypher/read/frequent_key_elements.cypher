// The key elements of a corpus that are marked as frequent, with the number of their facts, as before
// any merge.
MATCH (k:KeyElement {corpus: $corpus, frequent: true})
// Neo4j knows how many relationships a node has; those of merged ones are told apart if there are any.
WITH k, CASE
  WHEN EXISTS { MATCH (b:KeyElement {corpus: $corpus, merged_into: k.id}) }
  THEN COUNT { (k)<-[r:HAS_KEY_ELEMENT]-() WHERE r.from IS NULL }
  ELSE COUNT { (k)<-[:HAS_KEY_ELEMENT]-() }
END + COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } AS facts
RETURN k.id AS id, k.key AS key, k.name AS name, facts
