// The key elements of a corpus that still have to be compared with the others, in the order of
// their ids.
CREATE INDEX graphreader_key_element_fresh IF NOT EXISTS
FOR (n:KeyElement) ON (n.corpus, n.fresh, n.id)
