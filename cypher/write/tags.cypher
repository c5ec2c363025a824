// Changes the tags of documents by hand: removes $removed, or all if they are $replaced, and adds $added;
// sets the date unless $date is null, '' removes it. From now on front matter changes neither. Returns
// the documents.
MATCH (corpus:Corpus {name: $corpus})
SET corpus.updated = corpus.updated  // only locks the corpus: its texts stay
WITH corpus
UNWIND $documents AS id
MATCH (d:Document {id: id, corpus: $corpus})
WHERE d.deleting IS NULL
SET d.tags = [tag IN coalesce(d.tags, [])
              WHERE NOT tag IN $added AND NOT tag IN $removed AND NOT $replaced] + $added,
    d.date = CASE WHEN $date = '' THEN null ELSE coalesce($date, d.date) END,
    d.tagged = true
RETURN d.id AS id
