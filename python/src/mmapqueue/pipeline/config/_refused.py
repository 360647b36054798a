"""The error of a check of several values, with the location of the wrong one."""

from pydantic_core import PydanticCustomError


class Refused(PydanticCustomError):
    """Raised by validators of whole models.

    Args:
        message: What is wrong.
        at: The keys and indexes that lead to the value, from the model on.
    """

    def __new__(cls, message: str, *at: str | int) -> "Refused":
        # Braces of the template would be taken for names of variables.
        return super().__new__(cls, "refused", "{words}", {"words": message, "at": at})
