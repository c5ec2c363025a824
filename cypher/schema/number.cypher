// The number of the schema that this graph was made with; a new graph has none.
OPTIONAL MATCH (s:GraphReaderSchema)
RETURN s.number AS number
