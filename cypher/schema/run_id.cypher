// A kept run is identified by its id.
CREATE CONSTRAINT graphreader_run_id IF NOT EXISTS
FOR (n:Run) REQUIRE n.id IS UNIQUE
