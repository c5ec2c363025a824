// Stores the initial node and the result of each path of a run. Deleted nodes are left out.
MATCH (r:Run {id: $id})
UNWIND $paths AS row
MATCH (k:KeyElement {id: row.node, corpus: $corpus})
CREATE (r)-[:INITIAL_NODE {path: row.path, calls: row.calls, stopped: row.stopped,
                           notebook: row.notebook, error: row.error}]->(k)
