# python_with.sh - to be sourced.

# python_with MODULES - a Python that imports these, as "numpy, pytest"; nothing if there is none.
python_with() {
    local candidate
    for candidate in python3 /usr/bin/python3; do
        if "$candidate" -c "import $1" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}
