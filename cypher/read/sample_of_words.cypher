// Of a corpus with more than $many key elements those with the smallest ids, which are as good as
// drawn by lot: their wordings, the terms of one fact of each, and the last id, which tells what part
// of all they are. No row for a smaller corpus; all corpora together are counted at once.
MATCH (every:KeyElement)
WITH count(every) AS total
WHERE total > $many
MATCH (k:KeyElement {corpus: $corpus})
WITH k SKIP $many LIMIT 1
WITH k.corpus AS corpus
CALL (corpus) {
  MATCH (k:KeyElement)
  USING INDEX SEEK k:KeyElement(id)
  WHERE k.id > '' AND k.corpus = corpus
  WITH k ORDER BY k.id LIMIT $sample
  CALL (k) {
    OPTIONAL MATCH (k)<-[:HAS_KEY_ELEMENT|MERGED_KEY_ELEMENT]-(f)
    RETURN f.terms AS terms LIMIT 1
  }
  RETURN collect(k.aliases) AS wordings, collect(terms) AS facts, max(k.id) AS last
}
RETURN wordings, facts, last
