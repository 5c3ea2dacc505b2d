"""The version of this package: DUO_VERSION_STRING of duoblas.h, as Python writes it."""

from __future__ import annotations

import re
from pathlib import Path

from ._library import library_version

__all__ = ["version"]


def _version() -> str:
    """By the header if this is the source tree, else by the metadata of what is installed. A copy
    without either has the library's number."""
    header = Path(__file__).parents[2] / "include/duoblas.h"
    if header.is_file():
        found = re.search(r'DUO_VERSION_STRING "(.+?)"', header.read_text(encoding="utf-8"))
        if found is not None:
            return found[1].replace("-rc.", "rc")
    from importlib import metadata  # takes 15 ms
    try:
        return metadata.version("duoblas")
    except metadata.PackageNotFoundError:
        return library_version


version = _version()
