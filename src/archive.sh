#!/bin/sh
# archive.sh OUT.a FIRST.a OTHER.a...: one archive with one object: all of FIRST and what it needs of
# the others, with nothing visible but what is marked for export (STRATA_API). CC, OBJCOPY and AR are
# the tools to do it with.
set -eu
out=$1 first=$2
shift 2
# On i386 code finds its data by small functions of the compiler, one group of sections for all objects. One in here
# that has become local must not be taken for that of another object.
groups=
case $(${CC:-cc} -dumpmachine) in
i?86-*) groups=-Wl,--force-group-allocation ;;
esac
# shellcheck disable=SC2086 # a command may have words
{
    ${CC:-cc} -r -nostdlib $groups -o "$out.o" -Wl,--whole-archive "$first" -Wl,--no-whole-archive \
        -Wl,--start-group "$@" -Wl,--end-group
    ${OBJCOPY:-objcopy} --localize-hidden "$out.o"
    rm -f "$out"
    ${AR:-ar} rcs "$out" "$out.o"
}
rm -f "$out.o"
