"""The web server `graphreader serve`: pages for people, an HTTP interface for programs."""
