// Marks documents as being deleted, so that an interrupted deletion is finished later.
MATCH (d:Document {corpus: $corpus})
WHERE d.id IN $documents
SET d.deleting = true, d.complete = false
