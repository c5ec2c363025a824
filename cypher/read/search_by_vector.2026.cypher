// The key elements of a corpus nearest to a vector, filtered inside the index.
CYPHER 25
MATCH (k:KeyElement)
SEARCH k IN (
  VECTOR INDEX graphreader_key_element_embeddings FOR $vector WHERE k.corpus = $corpus LIMIT $limit
) SCORE AS score
RETURN k.id AS id, k.name AS name, score
ORDER BY score DESC, id
