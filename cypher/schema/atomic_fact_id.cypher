// A fact's id comes from its chunk and its text: equal sentences of two documents stay two facts.
CREATE CONSTRAINT graphreader_atomic_fact_id IF NOT EXISTS
FOR (n:AtomicFact) REQUIRE n.id IS UNIQUE
