// Stores the version of the schema.
MERGE (s:GraphReaderSchema)
SET s.number = $number
