#!/usr/bin/env bash
# test_kernels.sh LIBRARY [OBJECT...] - the compiled kernels: those of every algorithm keep all
# their data in registers on every architecture, and the library stays small. OBJECT.ptxas has the
# output of ptxas from the compilation (cmake/keep-ptxas).
set -euo pipefail

library=$1
shift
largest_megabytes=25
failed=0

report() { # VERDICT TEXT: one line, and remember a failure
    echo "$1: $2"
    if [[ $1 == FAILED ]]; then failed=1; fi
}

# ---- Registers, stack, spills ----

# A line for each architecture, and one for each kernel that is not as it should be.
read_facts() { # ALGORITHM FILE
    awk -v algorithm="$1" '
        /Compiling entry function/ {
            split($0, quoted, "\047")
            function_name = quoted[2]
            arch = quoted[4]
            if (!(arch in kernels)) order[++archs] = arch
            kernels[arch]++
        }
        /Function properties for/ { function_name = $NF }
        /bytes stack frame/ {
            match($0, /[0-9]+ bytes stack/); stack = substr($0, RSTART, RLENGTH) + 0
            match($0, /[0-9]+ bytes spill stores/); stores = substr($0, RSTART, RLENGTH) + 0
            match($0, /[0-9]+ bytes spill loads/); loads = substr($0, RSTART, RLENGTH) + 0
            if (stack + stores + loads > 0)
                bad[++bads] = arch ": " stack " bytes of stack, " stores " + " loads \
                    " bytes spilled by " function_name
        }
        /Potential Performance Loss/ { bad[++bads] = arch ": " $0 }
        /Used [0-9]+ registers/ {
            match($0, /Used [0-9]+/); used = substr($0, RSTART + 5, RLENGTH - 5) + 0
            if (!(arch in most) || used > most[arch]) most[arch] = used
            if (!(arch in least) || used < least[arch]) least[arch] = used
        }
        END {
            for (i = 1; i <= archs; i++) {
                a = order[i]
                printf "    %-20s %-7s %2d kernel%s, %d to %d registers\n", algorithm, a,
                    kernels[a], kernels[a] == 1 ? "" : "s", least[a], most[a]
            }
            for (i = 1; i <= bads; i++) print "    " algorithm " " bad[i]
            exit archs == 0 || bads > 0
        }' "$2"
}

algorithms=0
for object in "$@"; do
    algorithm=$(basename "$object" .cu.o)
    case $algorithm in *_gpu_*) ;; *) continue ;; esac
    algorithms=$((algorithms + 1))
    if [[ ! -s $object.ptxas ]]; then
        report FAILED "$algorithm: there is no $object.ptxas"
    elif read_facts "$algorithm" "$object.ptxas"; then
        report ok "$algorithm: no stack, no spills"
    else
        report FAILED "$algorithm: stack, spills or a warning of ptxas"
    fi
done
if [[ $algorithms -eq 0 ]]; then report FAILED "there are no objects of GPU algorithms"; fi

# ---- Size ----

bytes=$(stat -L -c %s "$library")
size="$(basename "$library") has $((bytes / 1000)) kB, $largest_megabytes MB are allowed"
if ((bytes <= largest_megabytes * 1000000)); then report ok "$size"; else report FAILED "$size"; fi
exit "$failed"
