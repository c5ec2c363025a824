// Begins to keep a run, anew if it was kept before, and returns it: nothing where the corpus is gone
// or another corpus has a run of that id. Like all who write, it first locks the corpus, here by
// setting its name to what it is: keeping a run changes nothing but runs.
MATCH (c:Corpus {name: $corpus})
SET c.name = c.name
WITH c
MERGE (r:Run {id: $id})
ON CREATE SET r.corpus = $corpus, r.asked = datetime() - duration({seconds: $seconds})
WITH r WHERE r.corpus = $corpus
SET r.question = $question, r.plan = $plan, r.analysis = $analysis, r.answer = $answer,
    r.answered = $answered, r.claims = $claims, r.contradictions = $contradictions,
    r.notes = $notes, r.decider = $decider, r.seconds = $seconds, r.calls = $calls,
    r.tokens = $tokens
WITH r
CALL (r) {
  MATCH (r)-[old:INITIAL_NODE|STEP|CITED]->()
  DELETE old
}
RETURN r.id AS id
