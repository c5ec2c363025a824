"""The embedded Neo4j: a real server of our own, for those who have configured none.

`ensure_running` downloads what is missing, starts the server when none runs, and says where it
answers. The server outlives the process that started it; `stop` ends it. Nothing here talks
to a Neo4j that `NEO4J_URI` names.

Neo4j Community is GPLv3: its jars are fetched by the user's machine from a Maven repository, by a
list of names, checksums and sizes, and are never part of this package.
"""
