"""Types of values in bodies: files of the caller in place of a URL, and names of models that the operator has added."""

from os import PathLike
from typing import BinaryIO, NewType

ModelName = NewType("ModelName", str)
"""The name of a model that the operator has added, in the body of a video or remix: the fields of a built-in model are checked by its name."""

FileSource = str | PathLike[str] | bytes | BinaryIO
"""A path, bytes or an open file; in a body a string is a URL or the id of a file, and a path is a `Path`."""


def read_source(source: FileSource) -> bytes:
    """The bytes; a string is a path."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, str | PathLike):
        with open(source, "rb") as file:
            return file.read()
    return source.read()


def is_file(value: object) -> bool:
    """True for a file in a body, where a string is a URL."""
    return isinstance(value, bytes | PathLike) or hasattr(value, "read")
