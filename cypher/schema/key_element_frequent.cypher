// The key elements of a corpus that many facts name, among which normalization looks for those that
// always occur together.
CREATE INDEX graphreader_key_element_frequent IF NOT EXISTS
FOR (n:KeyElement) ON (n.corpus, n.frequent)
