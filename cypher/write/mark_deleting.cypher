// Marks documents as being deleted, so that a delete that was cut off is finished later.
MATCH (d:Document {corpus: $corpus})
WHERE d.id IN $documents
SET d.deleting = true, d.complete = false
