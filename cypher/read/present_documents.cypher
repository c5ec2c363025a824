// Which of some documents exist and are not being deleted, and when the corpus was created; no row
// if the corpus does not exist.
MATCH (c:Corpus {name: $corpus})
RETURN toString(c.created) AS created, COLLECT {
  MATCH (d:Document {corpus: $corpus})
  WHERE d.id IN $documents AND d.deleting IS NULL
  RETURN d.id
} AS documents
