// All indexes with their state and options (such as the vector indexes' quantization).
SHOW INDEXES YIELD name, type, state, options
WHERE name STARTS WITH 'graphreader_'
RETURN name, type, state, options
