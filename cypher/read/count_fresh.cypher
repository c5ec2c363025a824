// How many key elements of a corpus are still to be compared, and how many there are.
CALL () {
  MATCH (k:KeyElement {corpus: $corpus, fresh: true})
  RETURN count(k) AS fresh
}
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  RETURN count(k) AS elements
}
RETURN fresh, elements
