// Words of the names and aliases; the corpus is in the index, so that a search can ask for it.
CREATE FULLTEXT INDEX graphreader_key_element_names IF NOT EXISTS
FOR (n:KeyElement) ON EACH [n.name, n.aliases, n.corpus]
