# netlib.sh - the testers of the reference BLAS, which Debian ships linked to libblas.so.3. They end
# with status 0 also when they fail, so their output counts. Level 3 is limited to gemm.

netlib=$libraries/blas
packages_netlib_level1=(libblas-test libblas3)
packages_netlib_level3=("${packages_netlib_level1[@]}")
packages_netlib_extended=("${packages_netlib_level1[@]}")
packages_netlib_257=("${packages_netlib_level1[@]}" gfortran libblas-dev dpkg-dev)

no_failure_in() { # FILE...
    local found
    found=$(grep -aE 'FAIL|FATAL|SUSPECT|\*{5}' "$@") || return 0
    fail "$(head -n 1 <<<"$found")"
}
says() { # FILE LINE; a blank stands for any number of blanks
    tr -s ' ' <"$1" | grep -aqF "$2" || fail "$1 does not say: $2"
}

suite_netlib_level1() {
    needs "$netlib/xblat1s" "$netlib/xscblat1"
    local tester routine routines passes all=0
    for tester in xblat1s xscblat1; do
        client "$netlib/$tester" >$tester.out
        routines=$(grep -ac 'Test of subprogram number' $tester.out)
        passes=$(grep -ac -e '----- PASS -----' $tester.out)
        for routine in SDOT SASUM; do
            grep -aA 1 -E "[ _]$routine " $tester.out | grep -aqe '----- PASS -----' ||
                fail "$tester does not pass $routine"
        done
        [[ $passes -eq $routines ]] || fail "$tester: $passes of $routines routines passed"
        all=$((all + passes))
    done
    no_failure_in ./*.out
    note "$all routines, 4 of them ours"
}

# The drop-in must have counted the testers' own numbers of calls.
level3() { # FILTER of the input
    needs "$netlib/xblat3s" "$netlib/xscblat3" "$netlib/sblat3.in" "$netlib/sin3"
    sed -E 's/^(SSYMM |STRMM |STRSM |SSYRK |SSYR2K) T/\1 F/' "$netlib/sblat3.in" | "$1" >sblat3.in
    sed -E 's/^(cblas_s(symm |trmm |trsm |syrk |syr2k)) T/\1 F/' "$netlib/sin3" | "$1" >sin3
    client "$netlib/xblat3s" <sblat3.in # writes sblat3.out
    client "$netlib/xscblat3" <sin3 >sin3.out
    no_failure_in ./*.out
    says sblat3.out 'SGEMM PASSED THE TESTS OF ERROR-EXITS'
    says sblat3.out 'SGEMM PASSED THE COMPUTATIONAL TESTS'
    says sin3.out 'cblas_sgemm PASSED THE TESTS OF ERROR-EXITS'
    says sin3.out 'cblas_sgemm PASSED THE COLUMN-MAJOR COMPUTATIONAL TESTS'
    says sin3.out 'cblas_sgemm PASSED THE ROW-MAJOR COMPUTATIONAL TESTS'
    same_calls sblat3.out sin3.out
}
same_calls() { # FILE...
    local theirs ours
    theirs=$(grep -ahoE 'PASSED .*\( *[0-9]+ CALLS' "$@" | grep -oE '[0-9]+ CALLS' |
        awk '{ calls += $1 } END { print calls }')
    ours=$(count_calls summary | cut -d ' ' -f 1)
    [[ $theirs -eq $ours ]] || fail "of $theirs calls $ours reached the drop-in"
    note "$theirs products, and the error exits"
}

extended() { # within the testers' limits: 9 sizes up to 65, and -1 among the scalars
    local sizes='0 1 2 7 16 31 33 64 65'
    [[ -z $short ]] || sizes='0 1 7 16 64 65'
    sed -E -e "s/^6( +NUMBER OF VALUES OF N)/$(wc -w <<<"$sizes")\1/" \
        -e "s/^0 1 2 3 5 9 /$sizes /" \
        -e 's/^3( +NUMBER OF VALUES OF (ALPHA|BETA))/4\1/' \
        -e 's/^0.0 1.0 (0.7|1.3) /0.0 1.0 -1.0 \1 /'
}

suite_netlib_level3() { level3 cat; }
suite_netlib_extended() {
    level3 extended
    grep -q ' 64 65 ' sblat3.in || fail "the input is not what it was"
}

# The same tester with larger arrays, for sizes around the blocks of kernels.
build_netlib_257() {
    local folder
    [[ ! -e $built/xblat3s_257 ]] || return 0
    [[ -z $root ]] || return 1
    folder=$(debian_source lapack) || return
    mkdir -p "$built"
    sed 's/NMAX = 65/NMAX = 257/' "$folder/BLAS/TESTING/sblat3.f" >"$built/xblat3s_257.f"
    gfortran -O2 -w -fno-automatic "$built/xblat3s_257.f" -o "$built/xblat3s_257" -lblas
}
suite_netlib_257() {
    needs "$netlib/sblat3.in"
    build_netlib_257 || skip "it cannot be built here"
    sed -E -e 's/^(SSYMM |STRMM |STRSM |SSYRK |SSYR2K) T/\1 F/' \
        -e 's/^6( +NUMBER OF VALUES OF N)/4\1/' -e 's/^0 1 2 3 5 9 /1 129 256 257 /' \
        -e 's/^3( +NUMBER OF VALUES OF (ALPHA|BETA))/2\1/' -e 's/^0.0 1.0 (0.7|1.3) /0.0 \1 /' \
        "$netlib/sblat3.in" >sblat3.in
    grep -q '^1 129 256 257' sblat3.in || fail "the input is not what it was"
    client "$built/xblat3s_257" <sblat3.in
    no_failure_in sblat3.out
    says sblat3.out 'SGEMM PASSED THE COMPUTATIONAL TESTS'
    same_calls sblat3.out
}
