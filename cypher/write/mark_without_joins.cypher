// Marks documents without joins as looked through, or, with null, takes the mark back.
UNWIND $documents AS id
MATCH (d:Document {id: id, corpus: $corpus})
SET d.named = $named
