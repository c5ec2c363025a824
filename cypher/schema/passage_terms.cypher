// Terms of the passages, with their title, as those of the facts.
CREATE FULLTEXT INDEX graphreader_passage_terms IF NOT EXISTS
FOR (n:Passage) ON EACH [n.terms]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}
