// Makes merged key elements that have their facts back elements of their own again.
UNWIND $ids AS id
MATCH (b:KeyElement {id: id})
REMOVE b.merged_into, b.merged_by
