"""The embedded Neo4j: a local server for users without a Neo4j of their own.

`server.ensure_running` downloads what is missing, starts the server, and returns its address. The
server outlives the process that started it; `server.stop` ends it. Nothing here connects to a
Neo4j that `NEO4J_URI` names.

Neo4j Community is GPLv3: the user's machine fetches its jars from a Maven repository, by a list of
names, checksums and sizes. They are never part of this package.
"""
