// How many key elements a corpus has; what is merged into another one counts no more.
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  RETURN count(k) AS elements
}
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  WHERE k.merged_into IS NOT NULL
  RETURN count(k) AS merged
}
RETURN elements - merged AS number
