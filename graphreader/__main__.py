"""`python -m graphreader` is `graphreader`."""

from graphreader.cli.main import main

if __name__ == "__main__":
    main()
