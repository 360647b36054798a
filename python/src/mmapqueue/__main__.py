"""The command line, as `python -m mmapqueue`."""

import sys

from mmapqueue._cli.main import main

sys.exit(main())
