// Ends the merge of key elements that have their facts again.
UNWIND $ids AS id
MATCH (b:KeyElement {id: id})
REMOVE b.merged_into, b.merged_by
