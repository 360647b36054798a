"""What an installation must be able to do, in a directory of its own: python push_and_pop.py DIR."""

import platform
import subprocess
import sys
from pathlib import Path

import mmapqueue


def main(directory: Path) -> None:
    records = [b"record %d" % number for number in range(1000)]
    with mmapqueue.Queue(directory, capacity="8m") as queue:
        assert queue.push(records[0], sync=True) == 0
        assert queue.push_many(records[1:]) == 999
    with mmapqueue.Queue(directory) as queue:
        popped = queue.pop_many(1000)
        assert [message.data for message in popped] == records
        queue.ack_up_to(popped[499])
    with mmapqueue.Queue(directory) as queue:
        assert queue.pop().data == records[500]
        statistics = queue.stats()
    assert mmapqueue.jar_path().is_file()
    assert mmapqueue.verify(directory).whole
    command = [str(Path(sys.executable).with_name("mmapqueue")), "verify", str(directory)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    print(f"mmapqueue {mmapqueue.__version__}, Python {platform.python_version()}: {statistics.end_offset} records")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
