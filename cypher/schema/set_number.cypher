// Remembers the number of the schema.
MERGE (s:GraphReaderSchema)
SET s.number = $number
