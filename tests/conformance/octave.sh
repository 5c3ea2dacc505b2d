# octave.sh - Octave's own tests of single-precision matrices and of dot.

packages_octave=(octave libblas3 liblapack3)

suite_octave() {
    needs /usr/bin/octave-cli
    local folder
    folder=$(compgen -G '/usr/share/octave/*/etc/tests' | head -n 1)
    needs "$folder/liboctave/array/fMatrix.cc-tst" "$folder/libinterp/corefcn/dot.cc-tst"
    client octave-cli --no-gui -q --eval "
        test('$folder/liboctave/array/fMatrix.cc-tst');
        test('$folder/libinterp/corefcn/dot.cc-tst');
        a = rand(64, 'single'); b = double(a) * double(a);
        printf('product %d\n', max(max(abs(a * a - b))) < 1e-5 * max(max(b)));" >out
    [[ $(grep -cE '^PASSES ([0-9]+) out of \1 tests' out) -eq 2 ]] || fail "$(grep PASSES out)"
    grep -qx 'product 1' out || fail "a product is wrong"
    note "$(awk '$1 == "PASSES" { tests += $2 } END { print tests }' out) tests"
}
