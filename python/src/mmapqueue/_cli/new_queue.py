"""The configuration of a queue that a command creates."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from mmapqueue._cli.output import print_error
from mmapqueue._values.configuration import check_keys
from mmapqueue._values.errors import ConfigError

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
)

Capacity = Annotated[str | None, typer.Option(metavar="SIZE", help="Bytes of the ring, such as 10g; 512m by default.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A key of the configuration; can be repeated.", show_default=False),
]


def configuration(capacity: str | None, settings: list[str], **given: str) -> dict[str, Any]:
    """The configuration of both options.

    Args:
        capacity: The value of `Capacity`.
        settings: The values of `Settings`.
        **given: Keys that other arguments of the command set.

    Raises:
        ConfigError: A setting is not a pair, is given twice, has an unknown key, or cannot be set here.
    """
    found: dict[str, Any] = given if capacity is None else {**given, "capacity": capacity}
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


def report_passing(keys: Iterable[str]) -> None:
    """Says on stderr which keys the directory does not store."""
    passing = [key for key in keys if key not in _STORED]
    if passing:
        print_error(f"not stored in the directory, so set at each open: {', '.join(passing)}")
