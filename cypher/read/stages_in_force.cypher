// The stages of normalization that have merged key elements of a corpus; no row if it does not
// exist.
MATCH (c:Corpus {name: $corpus})
RETURN [stage IN ['semantic', 'association'] WHERE EXISTS {
  MATCH (k:KeyElement {corpus: $corpus}) WHERE k.merged_by = stage
}] AS stages
