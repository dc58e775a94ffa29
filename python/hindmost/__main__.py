"""``python -m hindmost``: the command line."""

import sys

from hindmost.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
