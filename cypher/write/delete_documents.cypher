// Deletes the documents whose delete was begun and whose chunks are gone; how many are left.
MATCH (d:Document {corpus: $corpus})
WHERE d.deleting
WITH d, EXISTS { (d)-[:HAS_CHUNK]->() } AS left
FOREACH (_ IN CASE WHEN left THEN [] ELSE [1] END | DETACH DELETE d)
RETURN sum(CASE WHEN left THEN 1 ELSE 0 END) AS left
