// Makes the chain of a document's chunks, in their order.
UNWIND $pairs AS pair
MATCH (a:Chunk {id: pair[0]})
MATCH (b:Chunk {id: pair[1]})
MERGE (a)-[:NEXT]->(b)
