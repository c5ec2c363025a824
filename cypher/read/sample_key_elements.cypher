// Key elements of a corpus at some shares, from 0 to 1, of all of them in the order of their keys.
// Every graph of the same texts gives the same sample. It scans the whole corpus.
MATCH (k:KeyElement {corpus: $corpus})
WHERE k.merged_into IS NULL AND EXISTS {
    (k)<-[:HAS_KEY_ELEMENT]-(f)
    WHERE $scope IS NULL OR EXISTS { (f)<-[:HAS_ATOMIC_FACT]-(c) WHERE c.document IN $scope }
  }
WITH k ORDER BY k.key
WITH collect(k) AS elements
UNWIND $shares AS share
WITH elements[toInteger(share * size(elements))] AS k
WHERE k IS NOT NULL
RETURN collect(k {.id, .name}) AS rows
