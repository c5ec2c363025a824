// The evidence of a run: the cited chunks, their documents, the facts that contain the quotes, and
// the key elements of the paths that led there (the latest run whose question contains these words;
// leave them empty for the latest of all)
// :param corpus => 'demo'
// :param words => 'canonized'
MATCH (r:Run {corpus: $corpus})
WHERE r.question CONTAINS $words
WITH r ORDER BY r.asked DESC, r.id LIMIT 1
MATCH (r)-[cited:CITED]->(c:Chunk)<-[has_chunk:HAS_CHUNK]-(d:Document)
OPTIONAL MATCH (c)-[has_fact:HAS_ATOMIC_FACT]->(f:AtomicFact)-[names:HAS_KEY_ELEMENT]->(k:KeyElement)
WHERE cited.quote CONTAINS f.text OR f.text CONTAINS cited.quote OR EXISTS { (r)-[:STEP]->(k) }
WITH r, cited, c, has_chunk, d, has_fact, f, names, k
ORDER BY cited.quote CONTAINS f.text OR f.text CONTAINS cited.quote DESC, f.index
// A chunk has many facts about one key element: two stand for all.
WITH r, cited, c, has_chunk, d, k, collect(has_fact)[..2] AS has_facts, collect(f)[..2] AS shown,
     collect(names)[..2] AS names
RETURN r, cited, c, has_chunk, d, has_facts, shown, names, k
ORDER BY cited.number;
