// All indexes with their state and options (such as the vector index's dimension).
SHOW INDEXES YIELD name, type, state, options
WHERE name STARTS WITH 'graphreader_'
RETURN name, type, state, options
