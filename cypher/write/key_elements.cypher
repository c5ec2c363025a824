// Writes key elements in the order of their ids, so that writers side by side do not wait in a ring.
// Each is tied to a fact that names it: where the document was deleted meanwhile, nothing is left.
UNWIND $elements AS row
MATCH (:AtomicFact {id: row.fact})
MERGE (k:KeyElement {id: row.id})
ON CREATE SET k.corpus = $corpus, k.corpus_word = $corpus_word, k.key = row.key,
              k.name = row.surface, k.aliases = [row.surface]
SET k.stale = true
