"""`mmapqueue create`."""

from typing import Annotated, Any

import typer

import mmapqueue
from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import print_error, print_object, size_text
from mmapqueue._cli.queues import existing
from mmapqueue._jvm import standalone
from mmapqueue._values.arguments import absolute
from mmapqueue._values.configuration import check_keys
from mmapqueue._values.errors import ConfigError, MmapQueueError, NotFound

#: The keys that the directory stores; every open sets the others.
_STORED = (
    "capacity",
    "segment_size",
    "queue_capacity_segments",
    "format_version",
    "max_event_size",
    "timestamps",
    "retain_ms",
    "retain_bytes",
    "file_mode",
)


def create(
    directory: Directory,
    *,
    capacity: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Bytes of the ring, such as 10g; 512m by default.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A key of the configuration; can be repeated.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an empty queue in a directory that has none."""
    configuration = _configuration(capacity, settings or [])
    with _new(directory, configuration) as queue:
        config = queue.config
    if as_json:
        print_object(config)
    else:
        segments, size = config["queue_capacity_segments"], config["segment_size"]
        print(
            f"created {directory}: a ring of {size_text(segments * size)} in {segments} segments of "
            f"{size_text(size)}, records of up to {size_text(config['max_event_size'])}"
        )
    passing = [key for key in configuration if key not in _STORED]
    if passing:
        print_error(f"not stored in the directory, so set at each open: {', '.join(passing)}")


def _new(directory: str, configuration: dict[str, Any]) -> mmapqueue.Queue[bytes]:
    """Opens a queue in a directory that has none.

    Raises:
        MmapQueueError: The directory has a queue.
    """
    try:
        path = existing(directory)
    except NotFound:
        standalone.start_quickly()
        return mmapqueue.Queue(absolute("DIR", directory), **configuration)
    raise MmapQueueError(f"there is a queue in {path}: nothing was changed")


def _configuration(capacity: str | None, settings: list[str]) -> dict[str, Any]:
    """The configuration of both options.

    Raises:
        ConfigError: A setting is not a pair, is given twice, has an unknown key, or cannot be set here.
    """
    found: dict[str, Any] = {} if capacity is None else {"capacity": capacity}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise _invalid(setting, "KEY=VALUE, such as max_event_size=2m")
        if key in found:
            raise _invalid(setting, f"{key} once")
        if key in ("read_only", "queue_dir"):
            raise _invalid(setting, f"any key but {key}: a new queue is written, in DIR")
        found[key] = value
    check_keys(found)
    return found


def _invalid(setting: str, allowed: str) -> ConfigError:
    return ConfigError(f"--set = {setting!r} is invalid; allowed: {allowed}", "--set", setting, allowed)
