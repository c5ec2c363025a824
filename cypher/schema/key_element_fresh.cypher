// The key elements of a corpus that are still to be compared with the others, in order of their ids.
CREATE INDEX graphreader_key_element_fresh IF NOT EXISTS
FOR (n:KeyElement) ON (n.corpus, n.fresh, n.id)
