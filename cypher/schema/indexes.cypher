// What indexes there are, their state and their options (the vector index's real dimension).
SHOW INDEXES YIELD name, type, state, options
WHERE name STARTS WITH 'graphreader_'
RETURN name, type, state, options
