# Sourced, after golden.sh: $xenalyze is the command, of this machine or of what `tools/packages fetch xen` has fetched, or empty.
# summarise_xen TRACE READABLE: what it says of the trace of a Xen on an AMD processor, of which it reads READABLE.
# shellcheck shell=sh
. "$here/../lib/fetched.sh"
xenalyze=$(command -v xenalyze) || :
xenalyze_deb=$(fetched_package xen xen-utils-common)
if [ -z "$xenalyze" ] && [ "$xenalyze_deb" ]; then
    dpkg-deb -x "$xenalyze_deb" unpacked
    xenalyze=$work/unpacked/usr/bin/xenalyze
fi
# From Xen 4.19 on the numbers of the records say which vendor's exits they are.
svm_mode='' vendors=--vendors
if [ "$xenalyze" ] && "$xenalyze" --help | grep -q -e --svm-mode; then
    svm_mode=--svm-mode vendors=
fi

# shellcheck disable=SC2086 # one word or none
summarise_xen() {
    python3 "$here/../xen/for_xenalyze.py" "$1" "$2" $vendors && "$xenalyze" $svm_mode --summary "$2"
}
