"""Everything that knows Neo4j: statements, connection, schema, reading, writing, the server."""
