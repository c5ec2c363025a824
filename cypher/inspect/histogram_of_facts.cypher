// histogram_of_facts: how long facts are. The graph stores no token counts of facts: this estimates
// four characters a token, in Chinese one
// :param corpus => 'demo'
MATCH (d:Document {corpus: $corpus})-[:HAS_CHUNK]->(:Chunk)-[:HAS_ATOMIC_FACT]->(f:AtomicFact)
WITH toInteger(ceil(size(f.text) / CASE d.language WHEN 'zh' THEN 1.0 ELSE 4.0 END)) AS tokens
WITH (tokens - 1) / 10 AS ten, count(*) AS facts
WITH collect({ten: ten, facts: facts}) AS bars, max(facts) AS most
UNWIND bars AS bar
RETURN toString(10 * bar.ten + 1) + ' to ' + toString(10 * bar.ten + 10) AS about_tokens,
       bar.facts AS facts,
       reduce(drawn = '', _ IN range(1, toInteger(ceil(40.0 * bar.facts / most))) | drawn + '█')
         AS histogram
ORDER BY bar.ten;
