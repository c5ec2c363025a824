// chain: the chunks of one document in their order
// :param corpus => 'demo'
// :param document => 'joan_of_arc'
MATCH (d:Document {corpus: $corpus})-[has:HAS_CHUNK]->(c:Chunk)
WHERE d.title = $document OR d.id = $document
OPTIONAL MATCH (c)-[next:NEXT]->(:Chunk)
RETURN d, has, c, next
ORDER BY c.index;
