"""Shows DuoBLAS to threadpoolctl, which limits the threads of the libraries in a process.

    import duoblas.threadpool
    with threadpoolctl.threadpool_limits(1, "blas"):
        c = duoblas.sgemm(a, b)  # by one thread; so does a product of NumPy under the drop-in

A limit holds for calls of the calling thread without a context, also for the drop-in's.
"""
import ctypes

from threadpoolctl import LibController, register  # type: ignore # it has no types

from ._context import thread_context
from ._library import library_version


class Controller(LibController):  # type: ignore[misc,unused-ignore]
    """DuoBLAS for threadpoolctl."""

    user_api = "blas"
    internal_api = "duoblas"
    filename_prefixes: tuple[str, ...] = ("libduoblas.",)
    check_symbols: tuple[str, ...] = ("duo_set_threads",)

    def get_num_threads(self) -> int:
        return thread_context().threads

    def set_num_threads(self, num_threads: int) -> None:
        thread_context().set_threads(num_threads)
        self.dynlib.duo_set_threads(None, ctypes.c_int(num_threads))

    def get_version(self) -> str:
        return library_version


register(Controller)
