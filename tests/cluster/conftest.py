"""The tests of a cluster run by `make test-cluster` alone: they need root, namespaces and the jars of HDFS."""

import os

collect_ignore_glob = [] if "MMAPQUEUE_CLUSTER" in os.environ else ["test_*.py"]
