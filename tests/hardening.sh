#!/bin/sh
# What is installed is hardened: position-independent, relocations and the stack protected, calls of libc checked, and on
# x86 indirect jumps marked.
#
#   tests/hardening.sh FILE|DIR...    each program and shared library there
#   tests/hardening.sh --self-test    a program that is not hardened is found
set -eu

fail() {
    echo "hardening: $*" >&2
    failed=1
}
# has FILE OPTION PATTERN WHAT
has() {
    readelf -W "$2" "$1" 2>/dev/null | grep -qE "$3" || fail "$1: $4"
}

check() {
    has "$1" -h 'Type: +DYN' 'is not position-independent'
    has "$1" -l 'GNU_RELRO' 'has no RELRO'
    has "$1" -d '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW|\(BIND_NOW\)' 'binds lazily'
    has "$1" -l 'GNU_STACK.* RW +0x' 'has an executable stack'
    ! readelf -W -d "$1" | grep -q TEXTREL || fail "$1: relocates its code"
    # The property of the whole file is there only where libc's own start files have it, which Debian's do not.
    if readelf -h "$1" | grep -q 'Machine:.*X86-64'; then
        [ "$(objdump -d "$1" | grep -c endbr64)" -gt 40 ] || fail "$1: indirect jumps have no marks"
    fi
    # A program that needs no library has what it calls among its own symbols, unless it was stripped.
    symbols=--dyn-syms
    if ! readelf -W -d "$1" | grep -q '(NEEDED)'; then
        symbols=-s
        readelf -W -S "$1" | grep -q ' \.symtab ' || return 0
    fi
    has "$1" $symbols ' __stack_chk_fail' 'has no stack protector'
    has "$1" $symbols ' __[a-z]+_chk(@|$)' 'has no checked calls of libc'
}

# check_below FILE|DIR...
check_below() {
    failed=0 n=0
    # shellcheck disable=SC2044 # no name of ours has a space
    for file in $(find "$@" -type f); do
        [ "$(head -c 4 "$file" | tr -d '\0')" = "$(printf '\177ELF')" ] || continue
        # Objects, which a static library of Python's or a debugger's may be, are not loaded.
        readelf -h "$file" | grep -qE 'Type: +(DYN|EXEC)' || continue
        check "$file"
        n=$((n + 1))
    done
    [ $n -gt 0 ] || fail "there is no program below $*"
    [ $failed -eq 0 ]
}

for tool in readelf objdump; do
    command -v $tool >/dev/null || {
        echo "hardening: SKIPPED: no $tool"
        exit 77
    }
done
[ "${1:-}" = --self-test ] || {
    check_below "$@"
    exit
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
echo 'int main(void) { return 0; }' >"$dir/plain.c"
${CC:-cc} -no-pie -fcf-protection=none -fno-stack-protector -Wl,-z,lazy,-z,norelro,-z,execstack -o "$dir/plain" "$dir/plain.c"
if check_below "$dir" 2>"$dir/said"; then
    echo "hardening: what is not hardened is not found" >&2
    exit 1
fi
for what in 'not position-independent' 'no RELRO' 'binds lazily' 'executable stack' 'no marks' 'no stack protector' \
    'no checked calls'; do
    [ "$what" != 'no marks' ] || [ "$(uname -m)" = x86_64 ] || continue
    grep -q "$what" "$dir/said" || {
        echo "hardening: not found: $what: $(cat "$dir/said")" >&2
        exit 1
    }
done
