// A passage's id comes from its chunk and its ends.
CREATE CONSTRAINT graphreader_passage_id IF NOT EXISTS
FOR (n:Passage) REQUIRE n.id IS UNIQUE
