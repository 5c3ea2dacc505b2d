# kit.sh - the kit for a machine that can install nothing: packages, compiled testers, these
# scripts.

# From Debian 12: the needs of the testers, a Python of its own and its modules beside libc and
# libstdc++.
kit_packages=(libblas-test libblas3 liblapack-test liblapack3 libtmglib3 libgfortran5 libquadmath0
    libgomp1 libopenblas0-openmp libinih1 libcjson1
    python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libexpat1 zlib1g libssl3 libffi8
    libbz2-1.0 liblzma5 libsqlite3-0 libuuid1
    python3-numpy python3-distutils python3-lib2to3 python3-pkg-resources python3-setuptools
    python3-scipy python3-decorator liblbfgsb0 python3-sklearn python3-sklearn-lib python3-joblib
    python3-threadpoolctl python3-faiss python3-dateutil python3-six
    python3-pytest python3-hypothesis python3-attr python3-sortedcontainers python3-pluggy
    python3-iniconfig python3-packaging python3-py python3-more-itertools)

write_kit() { # FOLDER
    local kit=$1 package
    mkdir -p "$kit/packages"
    kit=$(cd "$kit" && pwd)
    (
        cd "$kit/packages" || exit
        apt-get -qq -o APT::Sandbox::User=root download "${kit_packages[@]}"
    )
    (
        cd "$logs" || exit
        build_netlib_257
        build_gsl
    ) >"$logs/kit" 2>&1 || echo "conformance: the kit goes without what $logs/kit says" >&2
    mkdir -p "$kit/testers"
    cp "$built/xblat3s_257" "$built/gsl" "$kit/testers/" || true
    mkdir -p "$kit/scripts" "$kit/tests"
    cp "$source/scripts/conformance" "$kit/scripts/"
    cp -r "$source/tests/conformance" "$kit/tests/"
    cat >"$kit/run" <<'END'
#!/usr/bin/env bash
# run BUILD [PATH...] - the conformance suites of this kit on the libraries in BUILD.
set -euo pipefail
kit=$(cd "$(dirname "$0")" && pwd)
if [[ ! -e $kit/root ]]; then
    for package in "$kit"/packages/*.deb; do dpkg -x "$package" "$kit/unpacking"; done
    mv "$kit/unpacking" "$kit/root"
fi
export DUOBLAS_KIT=$kit DUOBLAS_BUILD=${1:?usage: run BUILD [cpu | gpu | sim | auto]...}
exec "$kit/scripts/conformance" "${@:2}"
END
    chmod +x "$kit/run"
    du -sh "$kit"
}
