"""A value that a check of several values refuses, with its place."""

from pydantic_core import PydanticCustomError


class Refused(PydanticCustomError):
    """Raised by validators of whole models.

    Args:
        message: What is wrong.
        at: The keys and indexes that lead to the value, from the model on.
    """

    def __new__(cls, message: str, *at: str | int) -> "Refused":
        # The template's braces would be taken for names.
        return super().__new__(cls, "refused", "{words}", {"words": message, "at": at})
