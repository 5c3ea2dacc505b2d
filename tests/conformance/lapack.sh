# lapack.sh - LAPACK's single-precision testers on our routines and the reference's others, compared
# with the reference library alone on the same input in the same run.
#
# Another rounding of a sum can lift one of their tests just above its threshold. A sum in double
# does so in the RFP tests, and with another seed the reference does so in the tests of symmetric
# eigenvalues. So one more test in 10,000 may fail than with the reference, and none with ten times
# the threshold. A product that is off by 1e-5 makes hundreds fail.

lapack=$libraries/lapack
packages_lapack_linear=(liblapack-test libblas-test libblas3 liblapack3)
packages_lapack_eigen=("${packages_lapack_linear[@]}")

# Tests run, tests failed, error exits passed and programs ended, of all the outputs.
count_tests() { # FILE...
    cat "$@" | tr -s ' ' | awk '
        /All tests for .* passed the threshold \(/ { run += number($0, "threshold \\( *") }
        /out of [0-9]+ tests failed to pass the threshold/ {
            failed += number($0, ": *")
            run += number($0, "out of ")
        }
        /passed the tests of the error exits/ { exits++ }
        /End of tests/ { ends++ }
        function number(line, before) { sub(".*" before, "", line); return line + 0 }
        END { printf "%d %d %d %d\n", run, failed, exits, ends }'
}

# Where each call takes long, fewer sizes and two block sizes (of five, three of them the same).
shorter() { # INPUT
    local -a edits=(-e 's/^5( +Number of (values of NB|parameter values) *)$/2\1/'
        -e 's/^1 +3 +3 +3 +(10|20) /3 \1 /' -e 's/^1 +0 +5 +9 +1 /0 1 /'
        -e 's/^2 +2 +2 +2 +2 /2 2 /' -e 's/^2 +0 +2 +2 +2 /0 2 /')
    case ${short:+$1} in
    stest)
        edits+=(-e 's/^7( +Number of values of [MN] *)$/3\1/' -e 's/^0 1 2 3 5 10 50 /0 5 50 /')
        ;;
    svd)
        edits+=(-e 's/^19( +Number of values of M)/7\1/'
            -e 's/^0 0 0 1 1 1 2 2 3 3 3 10 10 16 16 30 30 40 40 /0 1 3 3 10 16 40 /'
            -e 's/^0 1 3 0 1 2 0 1 0 1 3 10 16 10 16 30 40 30 40 /1 2 1 3 16 10 40 /')
        ;;
    sep) ;;
    *) edits=() ;;
    esac
    sed -E "${edits[@]}" -e '' "$lapack/$1.in"
}
tenfold() { sed -E 's/^([0-9]+)\.0( +Threshold value)/\10.0\2/'; }

# Runs all inputs under a runner, and leaves their output in a folder.
run_testers() { # FOLDER RUNNER FILTER TESTER INPUT...
    local folder=$1 runner=$2 filter=$3 tester=$4 input
    mkdir "$folder"
    shift 4
    for input; do
        shorter "$input" | "$filter" >"$folder/$input.in"
        "$runner" "$lapack/$tester" <"$folder/$input.in" >"$folder/$input.out"
    done
}

against_reference() { # TESTER INPUT...
    local theirs ours run failed runs fails rest
    run_testers stock client cat "$@"
    run_testers stock_reference reference cat "$@"
    read -r run failed rest < <(count_tests stock/*.out)
    read -r runs fails theirs < <(count_tests stock_reference/*.out)
    [[ $runs -gt 0 ]] || fail "the reference ran no test"
    [[ "$run $rest" == "$runs $theirs" ]] ||
        fail "tests, error exits and programs ended are $run $rest, the reference's $runs $theirs"
    note "$run tests"
    [[ $failed -gt $fails ]] || return 0
    [[ $((failed - fails)) -le $((run / 10000 + 1)) ]] ||
        fail "$failed of $run tests failed, the reference's $fails"
    run_testers tenfold client tenfold "$@"
    run_testers tenfold_reference reference tenfold "$@"
    ours=$(count_tests tenfold/*.out)
    theirs=$(count_tests tenfold_reference/*.out)
    [[ $ours == "$theirs" ]] ||
        fail "with ten times the threshold: $ours, the reference: $theirs (tests, failed, ...)"
    note "$run tests, $failed of them just above the threshold (reference: $fails)"
}

suite_lapack_linear() {
    needs "$lapack/xlintsts" "$lapack/xlintstrfs"
    against_reference xlintsts stest
    mkdir linear
    mv stock* note linear
    against_reference xlintstrfs stest_rfp
    note "$(<linear/note); RFP: $(<note)"
}

suite_lapack_eigen() {
    needs "$lapack/xeigtsts"
    local inputs=(svd nep sep gqr gsv csd glm lse)
    [[ -n $short ]] || inputs+=(sed ssg sgg se2 sgd sbb sec ssb)
    against_reference xeigtsts "${inputs[@]}"
}
