// A corpus is identified by its name.
CREATE CONSTRAINT graphreader_corpus_name IF NOT EXISTS
FOR (n:Corpus) REQUIRE n.name IS UNIQUE
