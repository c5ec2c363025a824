// Which stages of normalization have left something in a corpus; nothing where there is no corpus.
MATCH (c:Corpus {name: $corpus})
RETURN CASE WHEN EXISTS {
         MATCH (k:KeyElement {corpus: $corpus}) WHERE k.hub
       } THEN ['frequency'] ELSE [] END
     + CASE WHEN EXISTS {
         MATCH (k:KeyElement {corpus: $corpus}) WHERE k.merged_by = 'semantic'
       } THEN ['semantic'] ELSE [] END
     + CASE WHEN EXISTS {
         MATCH (k:KeyElement {corpus: $corpus}) WHERE k.merged_by = 'association'
       } THEN ['association'] ELSE [] END
     + CASE WHEN c.linked THEN ['linking'] ELSE [] END AS stages
