# Sourced: fetched_package GROUP PACKAGE: the file of a package that `tools/packages fetch GROUP` has fetched, below this build
# directory or below build, where ./setup check has it; nothing: it was not fetched. fetched.py is the same for Python.
# shellcheck shell=sh
fetched_package() {
    for deb in "$STRATA_BIN/../$1/debs/$2"_*.deb "$here/../../build/$1/debs/$2"_*.deb; do
        [ -e "$deb" ] || continue
        echo "$deb"
        break
    done
}
