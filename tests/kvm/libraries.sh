#!/bin/sh
# Copies the libraries that FILEs need: those in the packages unpacked at ROOT (or ""), otherwise this machine's:
#
#   libraries.sh TREE ROOT FILE...
set -eu

tree=$1
root=$2
shift 2
lib=lib/x86_64-linux-gnu
LD_LIBRARY_PATH=$root/$lib:$root/usr/$lib ldd "$@" 2>/dev/null |
    sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^\t\(\/[^ ]*\) .*/\1/p' | sort -u | while read -r file; do
    case $file in
    */ld-linux-x86-64.so.2) to=$tree/lib64 ;;
    *) to=$tree/$lib ;;
    esac
    mkdir -p "$to"
    cp -L "$file" "$to/"
done
