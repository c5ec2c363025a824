// The version of the schema of this graph; no row for a new graph.
OPTIONAL MATCH (s:GraphReaderSchema)
RETURN s.number AS number
