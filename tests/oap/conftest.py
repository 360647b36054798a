"""These tests run by `make test-oap` alone."""

import os

collect_ignore_glob = [] if "MMAPQUEUE_OAP" in os.environ else ["test_*.py"]
