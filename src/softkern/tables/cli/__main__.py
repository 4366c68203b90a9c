"""``python -m softkern.tables.cli``: the command line without its script."""

from softkern.tables.cli import main

if __name__ == "__main__":
    main()
