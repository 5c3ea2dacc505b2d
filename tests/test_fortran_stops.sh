#!/usr/bin/env bash
# test_fortran_stops.sh SOURCE PROGRAM COMPILER - without a status an error of the Fortran module
# ends the program, and names the call. An array to be kept must be no expression and have the
# attribute target, or it does not compile.
set -euo pipefail

source=$1 program=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# stops CASE TEXT
stops() {
    local status=0
    (ulimit -c 0; "$program" "$1"; exit $?) >"$work/said" 2>&1 || status=$?
    if [[ $status -eq 0 ]] || ! grep -qF -- "$2" "$work/said"; then
        echo "FAILED: $1: status $status, and not: $2"
        cat "$work/said"
        exit 1
    fi
    echo "ok: $2"
}
range="a size or number is out of its range"
stops shapes "duo_sgemm: $range (op(A) 3 x 4, op(B) 3 x 4, C 4 x 4)"
shapes="op(A) 2 x 2, op(B) 2 x 2, C 2 x 2; A 2, B 3, C 3 matrices"
stops batches "duo_sgemm_batched: $range ($shapes)"
stops dot "duo_sdot: $range (3 and 4 elements)"
stops keep "duo_keep: an array has gaps that it may not have"
stops copy "duo_copy: $range (12 and 16 elements)"
stops letter "duo_sgemm: an enumeration argument has no such value"
stops release "duo_release: the address range is not registered"
stops path "duo_set_path: an enumeration argument has no such value"
stops ended "duo_synchronize: the context is not a live one"

# compiles STATEMENT
compiles() {
    cat >"$work/statement.f90" <<END
subroutine statement(ctx, a, b)
    use duoblas
    type(duo_context) :: ctx
    real, intent(in), target :: a(:)
    real, intent(in) :: b(:)
    $1
end subroutine
END
    "$compiler" -fsyntax-only -J "$work" -I "$work" "$work/statement.f90" >"$work/said" 2>&1
}
"$compiler" -fsyntax-only -J "$work" "$source/include/duoblas.f90" 2>"$work/said" ||
    { echo "skipped: no module by $compiler" && exit 0; }
for verb in keep changed fetch release prepare; do
    compiles "call duo_$verb(ctx, a)" || { cat "$work/said" && exit 1; }
    for argument in "a + 1" "2*a(:3)" "b" "[1.0, 2.0]"; do
        ! compiles "call duo_$verb(ctx, $argument)" ||
            { echo "FAILED: duo_$verb takes $argument" && exit 1; }
    done
done
echo "ok: what is kept is no expression, and has the attribute target"
