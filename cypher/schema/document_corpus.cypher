// The documents of a corpus.
CREATE INDEX graphreader_document_corpus IF NOT EXISTS
FOR (n:Document) ON (n.corpus)
