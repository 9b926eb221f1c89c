"""`python -m holdfast`, the same as the command `holdfast`."""

import sys

from holdfast.cli import main

sys.exit(main())
