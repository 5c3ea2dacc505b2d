"""Shows DuoBLAS to threadpoolctl, which limits the threads of the libraries in a process.

    import duoblas.threadpool
    with threadpoolctl.threadpool_limits(1, "blas"):
        c = duoblas.sgemm(a, b)  # by one thread; so does a product of NumPy under the drop-in

A limit is that of the calling thread's default context.
"""
import ctypes

from threadpoolctl import LibController, register


class Controller(LibController):  # type: ignore[misc] # threadpoolctl has no types
    """DuoBLAS for threadpoolctl."""

    user_api = "blas"
    internal_api = "duoblas"
    filename_prefixes = ("libduoblas.",)
    check_symbols = ("duo_get_threads", "duo_set_threads", "duo_version")

    def get_num_threads(self) -> int:
        count = ctypes.c_int()
        self.dynlib.duo_get_threads(None, ctypes.byref(count))
        return count.value

    def set_num_threads(self, num_threads: int) -> None:
        self.dynlib.duo_set_threads(None, ctypes.c_int(num_threads))

    def get_version(self) -> str:
        number = self.dynlib.duo_version()
        return "%d.%d.%d" % (number // 10000, number // 100 % 100, number % 100)


register(Controller)
