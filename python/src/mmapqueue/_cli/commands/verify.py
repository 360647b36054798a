"""`mmapqueue verify`."""

from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import print_object
from mmapqueue._cli.progress import Progress
from mmapqueue._cli.status import DONE, FAILED
from mmapqueue._tools import jobs


def verify(directory: Directory, *, as_json: AsJson = False) -> int:
    """Report damage in a queue that no process writes; change nothing.

    Exit status: 0 whole, 1 damage was found or the queue could not be read, 2 wrong usage.
    """
    with Progress(of_records=False) as progress:
        report = jobs.verify(directory, progress=progress.update)
    if as_json:
        print_object(report)
    else:
        print(report)
    return DONE if report.whole else FAILED
