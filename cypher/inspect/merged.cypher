// merged: wordings that now belong to another key element
// :param corpus => 'demo'
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.merged_into IS NOT NULL
MATCH (into:KeyElement {id: k.merged_into})
RETURN k.name AS wording, into.name AS key_element, k.merged_by AS stage,
       COUNT { (k)<-[:MERGED_KEY_ELEMENT]-() } AS facts
ORDER BY facts DESC, wording;
