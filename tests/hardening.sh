#!/bin/sh
# What is built is hardened: position-independent, relocations and the stack protected, calls of libc checked, and on
# x86 indirect jumps marked. $BUILT: "KIND FILE", one a line; KIND: program, library, agent.
set -eu

for tool in readelf objdump; do
    command -v $tool >/dev/null || {
        echo "no $tool"
        exit 77
    }
done
failed=0
fail() {
    echo "hardening: $*" >&2
    failed=1
}
# has FILE OPTION PATTERN WHAT
has() {
    readelf -W "$2" "$1" 2>/dev/null | grep -qE "$3" || fail "$1: $4"
}

while read -r kind file; do
    has "$file" -h 'Type: +DYN' 'is not position-independent'
    has "$file" -l 'GNU_RELRO' 'has no RELRO'
    has "$file" -d '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW|\(BIND_NOW\)' 'binds lazily'
    # The property of the whole file is there only where libc's own start files have it, which Debian's do not.
    if [ "$(uname -m)" = x86_64 ]; then
        [ "$(objdump -d "$file" | grep -c endbr64)" -gt 40 ] || fail "$file: indirect jumps have no marks"
    fi
    has "$file" -l 'GNU_STACK.* RW +0x' 'has an executable stack'
    if [ "$kind" = agent ]; then
        readelf -W -l "$file" | grep -q INTERP && fail "$file: needs a loader"
        has "$file" -s ' __stack_chk_fail$' 'has no stack protector'
    else
        has "$file" --dyn-syms ' __stack_chk_fail' 'has no stack protector'
        has "$file" --dyn-syms ' __[a-z]+_chk(@|$)' 'has no checked calls of libc'
    fi
done <<END
$BUILT
END
exit $failed
