// Writes the facts and summaries of chunks that have none, and the key elements. A fact refers to
// key elements by their place in $elements, with its wording of each. Returns the ids of the key
// elements that have no vector yet.
UNWIND $elements AS row
MERGE (k:KeyElement {id: row.id})
ON CREATE SET k.corpus = $corpus, k.corpus_word = $corpus_word, k.key = row.key,
              k.name = row.surfaces[0], k.aliases = row.surfaces,
              k.stale = CASE WHEN size(row.surfaces) > 1 THEN true END
ON MATCH SET k.stale = CASE
  WHEN size(k.aliases) > 1 OR k.aliases <> row.surfaces OR k.merged_into IS NOT NULL THEN true
  ELSE k.stale
END
WITH collect(k) AS elements
UNWIND $chunks AS row
MATCH (c:Chunk {id: row.id})
SET c.summary = row.summary
WITH elements, row, c
UNWIND row.facts AS fact
CREATE (c)-[:HAS_ATOMIC_FACT]->
       (f:AtomicFact {id: fact.id, corpus: $corpus, text: fact.text, terms: fact.terms,
                      index: fact.index})
WITH elements, fact, f
UNWIND fact.names AS name
WITH elements, f, elements[name[0]] AS k, name[1] AS surface
CREATE (f)-[:HAS_KEY_ELEMENT {surface: surface}]->(k)
WITH elements LIMIT 1
UNWIND elements AS k
WITH k WHERE k.embedding IS NULL
RETURN collect(k.id) AS lacking
