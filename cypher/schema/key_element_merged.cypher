// The key elements of a corpus that are merged into others.
CREATE INDEX graphreader_key_element_merged IF NOT EXISTS
FOR (n:KeyElement) ON (n.corpus, n.merged_into)
