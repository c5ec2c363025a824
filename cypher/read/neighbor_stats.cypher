// The numbers of neighbors of the key elements of a corpus.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.merged_into IS NULL AND EXISTS { (k)<-[:HAS_KEY_ELEMENT]-() }
WITH k, COUNT {
  MATCH (k)<-[:HAS_KEY_ELEMENT]-()-[:HAS_KEY_ELEMENT]->(n) WHERE n <> k RETURN DISTINCT n
} AS neighbors
WITH count(*) AS elements, sum(neighbors) AS sum, max(neighbors) AS most
// A sum of whole numbers is the same in any order, an average that is built up is not.
RETURN CASE elements WHEN 0 THEN 0.0 ELSE toFloat(sum) / elements END AS neighbors_per_element,
       coalesce(most, 0) AS most_neighbors
