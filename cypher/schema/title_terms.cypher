// Terms of the documents' titles, in the form of those of the facts.
CREATE FULLTEXT INDEX graphreader_title_terms IF NOT EXISTS
FOR (n:Document) ON EACH [n.terms]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}
