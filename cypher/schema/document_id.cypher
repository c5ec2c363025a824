// A document's id comes from its corpus and its path.
CREATE CONSTRAINT graphreader_document_id IF NOT EXISTS
FOR (n:Document) REQUIRE n.id IS UNIQUE
