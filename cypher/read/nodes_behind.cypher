// For each of some ids, which need not exist, the first key element behind it in the order of ids.
UNWIND range(0, size($ids) - 1) AS place
WITH place, $ids[place] AS id
CALL (id) {
  MATCH (k:KeyElement)
  USING INDEX k:KeyElement(id)
  WHERE k.id >= id AND k.corpus = $corpus AND k.merged_into IS NULL
  RETURN k ORDER BY k.id LIMIT 1
}
WITH place, k ORDER BY place
RETURN collect({id: k.id, name: k.name}) AS rows
