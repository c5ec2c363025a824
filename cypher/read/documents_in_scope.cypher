// The documents of a corpus that are in a scope, the number of their chunks, and the names in the scope
// that no document of the corpus has. A document has a name if it is its id, its title or the end of its
// path, or if it lies in a folder of that path. Dates are compared as far as both are known.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting IS NULL
WITH d, split(d.date, '/') AS dates, [
  place IN range(0, size($names) - 1) WHERE d.id = $names[place].name OR d.title = $names[place].name
    OR any(path IN $names[place].files WHERE d.source = path OR d.source ENDS WITH '/' + path)
    OR any(path IN $names[place].folders WHERE
      d.source STARTS WITH path + '/' OR d.source CONTAINS '/' + path + '/')
] AS named
WITH d, named, (size($names) = 0 OR size(named) > 0)
  AND all(tag IN $tags WHERE tag IN coalesce(d.tags, []))
  AND ($since + $until = '' OR coalesce(
    left($since, size(dates[-1])) <= dates[-1] AND left(dates[0], size($until)) <= $until, false
  )) AS is_in
WITH collect({id: d.id, named: named, is_in: is_in, chunks: COUNT { (d)-[:HAS_CHUNK]->() }}) AS found
RETURN [one IN found WHERE one.is_in | one.id] AS ids,
       reduce(sum = 0, one IN found | sum + CASE WHEN one.is_in THEN one.chunks ELSE 0 END) AS chunks,
       size(found) AS documents,
       [place IN range(0, size($names) - 1) WHERE none(one IN found WHERE place IN one.named)
        | $names[place].name] AS unknown
