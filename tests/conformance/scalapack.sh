# scalapack.sh - the PBLAS testers on four processes, each with a drop-in of its own.

packages_scalapack=(scalapack-mpi-test openmpi-bin libblas3)

suite_scalapack() {
    local folder=$libraries/scalapack/openmpi-tests/PBLAS tester routine tests=0
    needs "$folder/spb1tst" "$folder/spb3tst" /usr/bin/mpirun
    cp /usr/share/scalapack/PBLAS/*.dat .
    for tester in spb1tst spb3tst; do
        # Four processes of few calls; that root may is for containers.
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 \
            timeout 600 mpirun --oversubscribe -np 4 "${baseline[@]}" "${drop_in[@]}" \
            "$folder/$tester" >$tester.out
        # | routine  tests  passed  failed  skipped
        awk '$1 == "|" { if ($3 != $4 || $3 == 0) exit 1; lines++ } END { if (!lines) exit 1 }' \
            $tester.out || fail "$tester: $(grep -a '^ *|' $tester.out | tr -s ' ')"
    done
    ! grep -aE 'FAILED +\*|\*\*\* ERROR' spb?tst.out || fail "a check failed on a process"
    for routine in PSDOT PSASUM PSGEMM; do
        grep -qE "\| +$routine " spb?tst.out || fail "$routine was not tested"
    done
    tests=$(awk '$1 == "|" { tests += $4 } END { print tests }' spb?tst.out)
    [[ $(grep -c '^DuoBLAS' summary) -eq 8 ]] || fail "not every process reached the drop-in"
    note "$tests tests on 4 processes"
}
