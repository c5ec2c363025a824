// Terms of the facts (graphreader/store/full_text.py), the corpus's word among them, so that a search
// can require it. They are separated by spaces.
CREATE FULLTEXT INDEX graphreader_fact_terms IF NOT EXISTS
FOR (n:AtomicFact) ON EACH [n.terms]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}}
