// The sizes of a corpus. Merged key elements are counted as merged, and not as
// key elements; nor are key elements whose facts are all joined to others. `joined` counts the joins of
// names by document.
OPTIONAL MATCH (d:Document {corpus: $corpus})
WITH count(d) AS documents, collect(d) AS ds
CALL (ds) {
  UNWIND ds AS d
  MATCH (d)-[:HAS_CHUNK]->(c:Chunk)
  RETURN count(c) AS chunks, coalesce(sum(c.tokens), 0) AS tokens,
         coalesce(sum(COUNT { (c)-[:HAS_ATOMIC_FACT]->() }), 0) AS facts
}
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  WHERE k.merged_into IS NULL
  WITH COUNT { (k)<-[:HAS_KEY_ELEMENT]-() } AS named
  WHERE named > 0
  WITH count(*) AS key_elements, sum(named) AS sum, max(named) AS most
  // A sum of whole numbers is the same in any order, an average that is built up is not.
  RETURN key_elements, coalesce(most, 0) AS most_facts,
         CASE key_elements WHEN 0 THEN 0.0 ELSE toFloat(sum) / key_elements END
           AS facts_per_element
}
CALL () {
  MATCH (k:KeyElement {corpus: $corpus})
  USING INDEX SEEK k:KeyElement(corpus, merged_into)
  WHERE k.merged_into IS NOT NULL
  RETURN count(k) AS merged
}
RETURN documents, chunks, tokens, facts, key_elements, merged,
       reduce(joined = 0, d IN ds | joined + size([
         i IN range(0, size(coalesce(d.joined, [])) - 1) WHERE d.joined[i] <> d.joined_into[i]
       ])) AS joined, facts_per_element, most_facts
