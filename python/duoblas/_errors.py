"""Statuses of the library as exceptions."""

from __future__ import annotations

import enum
from typing import Optional, Union

from ._library import library

__all__ = ["ArgumentError", "DeviceError", "DeviceLostError", "DuoBLASError", "OutOfMemoryError",
           "Status", "WrongResultError", "check", "problem"]


class Status(enum.IntEnum):
    """duo_status of duoblas.h, without the prefix DUO_."""

    OK = 0
    ERR_NULL = -1
    ERR_SIZE = -2
    ERR_LD = -3
    ERR_ENUM = -4
    ERR_CONTEXT = -5
    ERR_FOREIGN = -6
    ERR_MEMORY = -7
    ERR_DEVICE = -8
    ERR_LOST = -9
    ERR_UNSUPPORTED = -10
    ERR_RANGE = -11
    ERR_EVENT = -12
    ERR_GRAPH = -13
    ERR_NODE = -14
    ERR_CYCLE = -15
    ERR_BUILT = -16
    ERR_HIDDEN = -17
    ERR_SHAPE = -18
    ERR_CAPTURE = -19
    ERR_WRONG = -20


class DuoBLASError(Exception):
    """A call of the library failed. `status` is its duo_status, `detail` its further words."""

    status: Union[Status, int]  # a number of a newer library's
    detail: str

    def __init__(self, status: int, detail: str = "") -> None:
        super().__init__(status, detail)  # copies are made of these, in other processes too
        self.status = Status(status) if status in Status.__members__.values() else status
        self.detail = detail

    def __str__(self) -> str:
        text: str = library.duo_status_string(self.status).decode()
        return f"{text} ({self.detail})" if self.detail else text


class ArgumentError(DuoBLASError, ValueError):
    """An argument is out of its range, or memory is not what it was said to be."""


class OutOfMemoryError(DuoBLASError, MemoryError):
    """There is not enough memory."""


class DeviceError(DuoBLASError):
    """There is no such device, or the device could not do it."""


class DeviceLostError(DeviceError):
    """The only current copy of some data was on a device that is lost."""


class WrongResultError(DuoBLASError):
    """A check has found a wrong result: see Context, verify."""


_ARGUMENTS = (Status.ERR_NULL, Status.ERR_SIZE, Status.ERR_LD, Status.ERR_ENUM,
              Status.ERR_CONTEXT, Status.ERR_FOREIGN, Status.ERR_RANGE, Status.ERR_EVENT,
              Status.ERR_NODE, Status.ERR_HIDDEN, Status.ERR_SHAPE)
_CLASSES: dict[int, type[DuoBLASError]] = {status: ArgumentError for status in _ARGUMENTS}
_CLASSES[Status.ERR_MEMORY] = OutOfMemoryError
_CLASSES[Status.ERR_DEVICE] = DeviceError
_CLASSES[Status.ERR_LOST] = DeviceLostError
_CLASSES[Status.ERR_WRONG] = WrongResultError


def problem(status: int, detail: str) -> DuoBLASError:
    """The exception of a status."""
    return _CLASSES.get(status, DuoBLASError)(status, detail)


def check(status: int, handle: Optional[int] = None) -> None:
    """Raises the exception of a status. handle: the context, for its words about the error."""
    if status == Status.OK:
        return
    detail = library.duo_error_detail(handle).decode(errors="replace") if handle else ""
    raise problem(status, detail)
