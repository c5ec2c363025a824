// Begins a document: it is incomplete until finish_document has run.
MERGE (d:Document {id: $id})
ON CREATE SET d.created = datetime()
SET d.corpus = $corpus, d.title = $title, d.source = $source, d.sha256 = $sha256,
    d.language = $language, d.chunk_tokens = $chunk_tokens, d.complete = false,
    d.updated = datetime()
REMOVE d.deleting
