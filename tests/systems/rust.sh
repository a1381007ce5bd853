#!/bin/sh
# What format rs makes of all events of a QEMU is compiled by rustc without a warning, and called as QEMU's devices in Rust
# call it (pl011, hpet), with their types:
#
#   rust.sh QEMU VERSION    QEMU/debs has that QEMU, whose trace-events-all is used
#
# Environment: STRATA_BIN, the directory of the built commands.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
skip() {
    echo "systems: SKIPPED: $*" >&2
    exit 77
}
rustc=$(command -v rustc || echo "${HOME:-/root}/.cargo/bin/rustc")
release=$("$rustc" --version 2>/dev/null) || skip "there is no rustc"
minor=$(echo "$release" | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
[ "${minor:-0}" -ge 83 ] || skip "$release is too old, QEMU wants 1.83"
qemu=$("$here/../lib/emulator.sh" "$1" "$2" 2>&1) || skip "$qemu"
declarations=${qemu%/*}/../share/qemu/trace-events-all

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$STRATA_BIN/tracetool" --format=rs --backends=log,syslog,ftrace,simple,ring --group=all "$declarations" trace-all.rs
cat >calls.rs <<'END'
#![deny(warnings)]
#[allow(clippy::ptr_as_ptr, clippy::cast_lossless, clippy::used_underscore_binding)]
pub mod trace {
    include!("trace-all.rs");
}

pub fn pl011(addr: u64, value: u32, depth: u32, clock: u64, level: bool, bytes: &[u8]) {
    trace::trace_pl011_irq_state(level);
    trace::trace_pl011_read(addr, value, c"");
    trace::trace_pl011_write(addr, value, c"");
    trace::trace_pl011_read_fifo(value, depth);
    trace::trace_pl011_can_receive(value, depth, depth, depth);
    trace::trace_pl011_fifo_rx_put(value, depth, depth);
    trace::trace_pl011_fifo_rx_full();
    trace::trace_pl011_baudrate_change(value, clock, value, value);
    trace::trace_pl011_receive(bytes.len());
}

pub fn hpet(addr: u64, value: u64, shift: u32, index: u8) {
    trace::trace_hpet_timer_id_out_of_range((shift / 8).try_into().unwrap());
    trace::trace_hpet_ram_read(addr);
    trace::trace_hpet_ram_read_reading_counter((shift / 8).try_into().unwrap(), value);
    trace::trace_hpet_ram_write(addr, value);
    trace::trace_hpet_ram_write_timer_id(index);
    trace::trace_hpet_ram_write_tn_cfg((shift / 8).try_into().unwrap());
    trace::trace_hpet_ram_write_tn_cmp((shift / 8).try_into().unwrap());
    trace::trace_hpet_ram_write_invalid_tn_cmp();
    trace::trace_hpet_ram_write_counter_write_while_enabled();
}

// `unsigned long` of C is unsigned here too.
pub fn unsigned(value: std::ffi::c_ulong) {
    trace::trace_nbd_init_set_size(value);
}
END
"$rustc" --edition 2021 --crate-type lib --emit=metadata calls.rs
grep -Ec '^(disable )?[a-z][A-Za-z0-9_]*\(' "$declarations" | sed 's/$/ events are compiled/'
echo "tried: QEMU $("$qemu" --version | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p')"
