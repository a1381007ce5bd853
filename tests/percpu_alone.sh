#!/bin/sh
# That libstrata-percpu needs nothing: it and its headers are compiled as freestanding, by gcc and clang,
# without any header but those that a compiler has, and with nothing left to link; the macros in code of a
# kernel's kind, in C11 and C++, and for other machines, as far as their compilers are here.
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "percpu_alone: $*" >&2
    exit 1
}

cat >kernel.c <<'END'
#include "strata/percpu_area.h"
extern struct strata_percpu_cpu cpu[];
unsigned smp_processor_id(void);
#define STRATA_PERCPU_SELF() (cpu + smp_processor_id())
#include "strata/percpu.h"
void trace_all(uint64_t address, const void *bytes, size_t size);
void trace_all(uint64_t address, const void *bytes, size_t size)
{
    TRACE_0D(STRATA_TRC_GUEST | 1);
    TRACE_1D(STRATA_TRC_GUEST | 2, address);
    TRACE_2D(STRATA_TRC_GUEST | 3, TRACE_PARAM64(address));
    TRACE_7D(STRATA_TRC_GUEST | 4, 1, 2, 3, 4, 5, TRACE_PARAM64(address));
    STRATA_PERCPU_TRACE(STRATA_TRC_HVM | 1);
    STRATA_PERCPU_TRACE(STRATA_TRC_HVM | 1, 1, 2, 3);
    STRATA_PERCPU_TRACE_TIME(STRATA_TRC_HVM | 1, 1, 2, 3);
    STRATA_PERCPU_TRACE_VAR(STRATA_TRC_HVM | 1, true, size, bytes);
}
END
cp kernel.c kernel.cc

warnings='-Wall -Wextra -Wconversion -Wundef -Werror'
# Only what the standard says that a compiler without a library has.
for file in "$tree"/src/percpu/*.[ch] "$tree"/include/strata/percpu*.h; do
    other=$(sed -n 's/^ *# *include *<\(.*\)>.*/\1/p' "$file" | grep -vxE 'std(bool|def|int)\.h' || :)
    [ -z "$other" ] || fail "${file#"$tree/"} includes $other"
done

# check COMPILER OPTION...
check() {
    cc=$1
    shift
    rm -f ./*.o
    "$cc" -std=c11 -ffreestanding -fno-builtin -nostdinc \
        -isystem "$("$cc" "$@" -print-file-name=include)" \
        -fno-stack-protector $warnings -I"$tree/include" -I"$tree/src" "$@" -c "$tree"/src/percpu/*.c kernel.c
    # All that is used is there, but for what the kernel has.
    nm -g --defined-only ./*.o | awk 'NF == 3 { print $3 }' | sort -u >defined
    nm -u ./*.o | awk '$1 == "U" { print $2 }' | sort -u | grep -vxF -f defined >undefined || :
    # Without optimising, clang calls what every compiler may call.
    more=
    [ "$1" != -O0 ] || more='|memcpy|memset'
    others=$(grep -vxE "cpu|smp_processor_id|_GLOBAL_OFFSET_TABLE_$more" undefined || :)
    [ -z "$others" ] || fail "$cc $*: calls $others"
    echo "ok: $cc $*"
}

found=
for cc in gcc clang; do
    command -v $cc >/dev/null || continue
    found=1
    for optimise in -O0 -O2 -Os; do
        check $cc $optimise
    done
    check $cc -O2 -mgeneral-regs-only -mcmodel=kernel -fno-pic -mno-red-zone
done
[ "$found" ] || {
    echo "percpu_alone: no compiler is installed"
    exit 77
}
for cc in g++ clang++; do
    command -v $cc >/dev/null || continue
    $cc -std=c++11 -ffreestanding $warnings -O2 -I"$tree/include" -c kernel.cc -o kernel.o
    $cc -std=c++20 $warnings -O2 -I"$tree/include" -c kernel.cc -o kernel.o
    echo "ok: $cc"
done
if command -v clang >/dev/null; then
    check clang -O2 --target=aarch64-none-elf -mno-outline-atomics
    check clang -O2 --target=riscv64-none-elf -march=rv64gc
fi
if command -v aarch64-linux-gnu-gcc >/dev/null; then
    check aarch64-linux-gnu-gcc -O2 -mno-outline-atomics
fi

# What is on takes no lock.
if [ "$(uname -m)" = x86_64 ] && command -v gcc >/dev/null; then
    gcc -O2 -std=c11 -I"$tree/include" -c kernel.c -o kernel.o
    objdump -d --no-show-raw-insn kernel.o >code
    grep -q 'cmpxchg ' code || fail "no cmpxchg in the code"
    locked='\<lock\>|\<xchg .*\(|mfence'
    ! grep -E "$locked" code || fail "a locked instruction"
fi
