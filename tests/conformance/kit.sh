# kit.sh - what a machine needs that can install nothing: packages unpacked, testers compiled, these
# scripts.

write_kit() { # FOLDER
    local kit=$1 package
    mkdir -p "$kit/packages" "$kit/root"
    kit=$(cd "$kit" && pwd)
    (
        cd "$kit/packages" || exit
        apt-get -qq -o APT::Sandbox::User=root download libblas-test libblas3 liblapack-test \
            liblapack3 libtmglib3 libgfortran5 libquadmath0
        for package in *.deb; do dpkg -x "$package" "$kit/root"; done
    )
    rm -r "$kit/packages"
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
export DUOBLAS_KIT=$kit DUOBLAS_BUILD=${1:?usage: run BUILD [cpu | gpu | sim | auto]...}
exec "$kit/scripts/conformance" "${@:2}"
END
    chmod +x "$kit/run"
    du -sh "$kit"
}
