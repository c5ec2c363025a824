// How many neighbors the key elements of a corpus have.
MATCH (k:KeyElement {corpus: $corpus})
WITH k, COUNT {
  MATCH (k)<-[:HAS_KEY_ELEMENT]-()-[:HAS_KEY_ELEMENT]->(n) WHERE n <> k RETURN DISTINCT n
} AS neighbors
RETURN coalesce(avg(neighbors), 0.0) AS neighbors_per_element,
       coalesce(max(neighbors), 0) AS most_neighbors
