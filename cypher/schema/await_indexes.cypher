// Waits until every index answers.
CALL db.awaitIndexes($seconds)
