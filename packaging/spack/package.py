# Copyright The DuoBLAS authors. SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe, for packages/duoblas/package.py of a repository of one's own; in a checkout of
DuoBLAS `spack dev-build duoblas@main` builds it."""

from spack.package import *


class Duoblas(CMakePackage, CudaPackage):
    """A BLAS-like library (sgemm, sasum, ssum, sdot) that runs each call where it finishes first,
    on the CPU or on an NVIDIA GPU."""

    git = "https://duoblas.invalid/source"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("tool", default=True, description="Build the duoblas tool")
    variant("fortran", default=True, description="Build the Fortran module")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("inih")
    depends_on("cjson", when="+tool")
    depends_on("cuda@12:", when="+cuda")
    # Opened at run time, and the names that libblas.so.3 takes from it: no other BLAS has them all.
    depends_on("openblas threads=openmp", type=("build", "link", "run"))
    depends_on("cunit", type="test")

    conflicts("platform=darwin", msg="DuoBLAS runs on Linux")
    conflicts("platform=windows", msg="DuoBLAS runs on Linux")

    def cmake_args(self):
        args = [
            self.define_from_variant("DUOBLAS_CUDA", "cuda"),
            self.define_from_variant("DUOBLAS_TOOL", "tool"),
            self.define_from_variant("DUOBLAS_FORTRAN", "fortran"),
            self.define("DUOBLAS_WERROR", False),
            self.define("BUILD_TESTING", self.run_tests),
        ]
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            # Hopper's products need what only 90a has.
            names = self.spec.variants["cuda_arch"].value
            names = ["90a" if name == "90" else name for name in names]
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", names))
        return args
