// Marks the key elements of many facts in a corpus of an earlier version, which has no marks.
MATCH (corpus:Corpus {name: $corpus})
WHERE corpus.frequent IS NULL
SET corpus.frequent = true
WITH corpus
MATCH (k:KeyElement {corpus: $corpus})
WHERE COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } + COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } >= $frequent
SET k.frequent = true
