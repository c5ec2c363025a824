"""`python -m graphreader` runs the same command line as `graphreader`."""

import sys

if __name__ == "__main__":
    try:
        from graphreader.cli.main import main
    except KeyboardInterrupt:  # signals are handled from `main` on
        sys.exit(130)
    main()
