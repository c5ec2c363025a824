// Stores the paths of a run, each as a chain of its steps, and their places. Deleted nodes are left
// out.
MATCH (r:Run {id: $id})
UNWIND $paths AS row
CREATE (r)-[:HAS_PATH]->(p:Path {corpus: $corpus, path: row.path, paths: size($paths),
                                 calls: row.calls, stopped: row.stopped, notebook: row.notebook,
                                 error: row.error})
WITH p, row
CALL (p, row) {
  MATCH (k:KeyElement {id: row.node, corpus: $corpus})
  CREATE (p)-[:INITIAL_NODE]->(k)
}
CALL (p, row) {
  UNWIND row.steps AS step
  CREATE (s:Step {corpus: $corpus, path: row.path, number: step.number, function: step.name,
                  argument: step.argument, rationale: step.rationale})
  WITH p, s, step ORDER BY s.number
  CALL (s, step) {
    OPTIONAL MATCH (k:KeyElement {id: step.id, corpus: $corpus})
    OPTIONAL MATCH (c:Chunk {id: step.id, corpus: $corpus})
    WITH s, coalesce(k, c) AS place WHERE place IS NOT NULL
    CREATE (s)-[:AT]->(place)
  }
  WITH p, collect(s) AS steps
  WITH [p] + steps AS chain
  UNWIND range(1, size(chain) - 1) AS i
  WITH chain[i - 1] AS before, chain[i] AS after
  CREATE (before)-[:NEXT_STEP]->(after)
}
