// Words of the names and aliases. The index contains the corpus as one unique word, so that a
// search can require it.
CREATE FULLTEXT INDEX graphreader_key_element_words IF NOT EXISTS
FOR (n:KeyElement) ON EACH [n.name, n.aliases, n.corpus_word]
