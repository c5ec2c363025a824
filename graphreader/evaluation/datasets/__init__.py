"""Published question sets as records; `load` reads them all."""
