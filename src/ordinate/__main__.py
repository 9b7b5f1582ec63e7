"""``python -m ordinate``, and so ``torchrun -m ordinate``, is the command ``ordinate``."""

import sys

from ordinate.cli import main

if __name__ == "__main__":
    sys.exit(main())
