// Flags key elements as hubs, and takes the flag from others.
UNWIND $flags AS row
MATCH (k:KeyElement {id: row.id})
SET k.hub = CASE WHEN row.hub THEN true END
