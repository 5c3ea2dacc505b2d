"""Objects that own something of the library's; a copy would end it a second time."""

from __future__ import annotations

from typing import Any

__all__ = ["Unique"]


class Unique:
    """Has no copies, here or in other processes."""

    def __reduce__(self) -> Any:
        raise TypeError(f"a duoblas.{type(self).__name__} can be neither copied nor pickled: "
                        "make one of its own where it is needed")
