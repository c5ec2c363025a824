"""The page for people and the HTTP interface for programs: `graphreader serve`."""
