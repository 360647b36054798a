"""A store for all tests, and JVMs that can reach it. They run by `make test-s3` alone."""

import os
from collections.abc import Iterator

import pytest

from mmapqueue._jvm import archive_jars
from s3.store import Store

collect_ignore_glob = [] if "MMAPQUEUE_S3" in os.environ else ["test_*.py"]


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("store")) as found, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MMAPQUEUE_CLASSPATH", found.class_path())
        found.make_bucket("unconditional")
        # Before a queue without an archive starts the JVM of this process.
        archive_jars.add(found.archive(), "none")
        yield found


@pytest.fixture
def archive(store: Store) -> str:
    """The URI of an archive that does not exist yet; counting begins here."""
    store.counts()
    return store.archive()
