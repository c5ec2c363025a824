// A key element's id comes from its corpus and its normalized form.
CREATE CONSTRAINT graphreader_key_element_id IF NOT EXISTS
FOR (n:KeyElement) REQUIRE n.id IS UNIQUE
