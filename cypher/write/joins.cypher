// Stores the joins of a document's names: parallel lists of the key elements joined, of those that they
// mean, and of who decided; `asked` identifies the list of names that a model was asked about. The
// document's facts are led to them afterwards.
MATCH (d:Document {id: $document, corpus: $corpus})
SET d.joined = $joined, d.joined_into = $joined_into, d.joined_by = $joined_by,
    d.asked_names = $asked, d.named = null
