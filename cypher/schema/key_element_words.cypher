// Words of the names and aliases. The corpus is in the index as one word that no other corpus has,
// so that a search can ask for it.
CREATE FULLTEXT INDEX graphreader_key_element_words IF NOT EXISTS
FOR (n:KeyElement) ON EACH [n.name, n.aliases, n.corpus_word]
