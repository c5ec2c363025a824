// Creates or replaces a kept run and returns it: no row if the corpus does not exist or another
// corpus has a run of that id. It locks the corpus first, as every writer does.
MATCH (c:Corpus {name: $corpus})
SET c.name = c.name
WITH c
MERGE (r:Run {id: $id})
ON CREATE SET r.corpus = $corpus, r.asked = datetime() - duration({seconds: $seconds})
WITH r WHERE r.corpus = $corpus
SET r.question = $question, r.plan = $plan, r.analysis = $analysis, r.answer = $answer,
    r.explanation = $explanation, r.confidence = $confidence, r.answered = $answered,
    r.claims = $claims, r.contradictions = $contradictions, r.notes = $notes,
    r.decider = $decider, r.seconds = $seconds, r.calls = $calls, r.tokens = $tokens
WITH r
CALL (r) {
  MATCH (r)-[old:CITED]->()
  DELETE old
}
CALL (r) {
  MATCH (r)-[:HAS_PATH]->()-[:NEXT_STEP*0..]->(old)
  DETACH DELETE old
}
RETURN r.id AS id
