// The key elements whose name and aliases have to be counted again; a finished graph has none.
CREATE INDEX graphreader_key_element_stale IF NOT EXISTS
FOR (n:KeyElement) ON (n.stale)
