// The key elements of a corpus, for counting, scanning and finding stale ones.
CREATE INDEX graphreader_key_element_corpus IF NOT EXISTS
FOR (n:KeyElement) ON (n.corpus)
