"""Columns of an event's row."""

from __future__ import annotations

#: Columns of an event and their types, in the order of the arguments of `record`.
TYPES = {
    "time": "timestamp",
    "name": "string",
    "type": "string",
    "remote": "boolean",
    "meta": "map<string,string>",
    "content_type": "string",
    "data": "binary",
    "fields": "string",
    "id": "string",
    "source": "string",
}
