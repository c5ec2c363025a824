// How many facts name both of a pair of key elements, whatever is merged now.
UNWIND $pairs AS pair
MATCH (a:KeyElement {id: pair[0]})
MATCH (b:KeyElement {id: pair[1]})
RETURN a.id AS a, b.id AS b, COUNT {
  (a)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-(:AtomicFact)
     -[s:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(b)
  WHERE r.from IS NULL AND r.linked IS NULL AND s.from IS NULL AND s.linked IS NULL
} AS facts
