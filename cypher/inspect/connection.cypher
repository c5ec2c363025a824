// connection: how two key elements are connected: the shortest paths over shared facts (at most ten,
// as many may be as short)
// :param corpus => 'demo'
// :param name => 'Charles VII'
// :param other => 'Reims'
MATCH (a:KeyElement {corpus: $corpus}), (b:KeyElement {corpus: $corpus})
WHERE $name IN a.aliases AND $other IN b.aliases
MATCH way = allShortestPaths((a)-[:HAS_KEY_ELEMENT*..8]-(b))
RETURN way
LIMIT 10;
