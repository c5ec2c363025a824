// Which stages of normalization have merged key elements of a corpus; nothing where there is no corpus.
MATCH (c:Corpus {name: $corpus})
RETURN [stage IN ['semantic', 'association'] WHERE EXISTS {
  MATCH (k:KeyElement {corpus: $corpus}) WHERE k.merged_by = stage
}] AS stages
