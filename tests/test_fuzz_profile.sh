#!/bin/sh
# test_fuzz_profile.sh - some seconds of the profile fuzzer (scripts/fuzz runs it longer).
#
#   test_fuzz_profile.sh BUILD SOURCE
set -u

build=${1:?usage: test_fuzz_profile.sh BUILD SOURCE}
source=${2:?usage: test_fuzz_profile.sh BUILD SOURCE}
exec timeout 300 "$source/scripts/fuzz" 20000 "$build/fuzz"
