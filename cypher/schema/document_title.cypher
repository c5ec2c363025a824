// Documents by their titles: one that is called like a key element tells of it.
CREATE INDEX graphreader_document_title IF NOT EXISTS
FOR (n:Document) ON (n.corpus, n.title)
