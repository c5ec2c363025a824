// The number of key elements that still have to be compared, and of all key elements of a corpus.
CALL () {
  MATCH (k:KeyElement {corpus: $corpus, fresh: true})
  RETURN count(k) AS fresh
}
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  RETURN count(k) AS elements
}
RETURN fresh, elements
