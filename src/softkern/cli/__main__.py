"""``python -m softkern.cli``: the command line without its script."""

from softkern.cli import main

if __name__ == "__main__":
    main()
