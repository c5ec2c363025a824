// Says whether facts of a corpus may be linked to what extraction did not list for them.
MATCH (c:Corpus {name: $corpus})
SET c.linked = $linked
