// The number of facts that name both key elements of a pair, as before any merge.
UNWIND $pairs AS pair
MATCH (a:KeyElement {id: pair[0], corpus: $corpus})
MATCH (b:KeyElement {id: pair[1], corpus: $corpus})
RETURN a.id AS a, b.id AS b, COUNT {
  (a)<-[r:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-(:AtomicFact)
     -[s:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]->(b)
  WHERE r.from IS NULL AND s.from IS NULL
} AS facts
