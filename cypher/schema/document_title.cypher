// Documents by title, since a document about a key element often has its name as the title.
CREATE INDEX graphreader_document_title IF NOT EXISTS
FOR (n:Document) ON (n.corpus, n.title)
