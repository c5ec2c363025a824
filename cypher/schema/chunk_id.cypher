// A chunk's id comes from its document and its text.
CREATE CONSTRAINT graphreader_chunk_id IF NOT EXISTS
FOR (n:Chunk) REQUIRE n.id IS UNIQUE
