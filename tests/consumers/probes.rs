// SPDX-License-Identifier: MIT
//! Calls events of probes.trace-events, as probes.c does.

mod trace {
    include!(env!("TRACE_PROBES_RS"));
}

use std::ffi::CStr;

fn text(bytes: &[u8]) -> &CStr {
    CStr::from_bytes_with_nul(bytes).unwrap()
}

fn main() {
    let mut other = *b"other\0";

    trace::trace_nothing();
    trace::trace_numbers(
        -8, 208, -1600, 65000, -320000, 0xdeadbeef, -64000000000, 0xfedcba9876543210, true, 4096,
    );
    trace::trace_ten(1, -2, 3, -4, 5, -6, 7, -8, 9, -10);
    trace::trace_texts(text(b"a name\0"), other.as_mut_ptr().cast(), 0x1234 as *mut _, text(b"address\0"));
    trace::trace_words(1, 0x22, text(b"self\0"), 4, 5, 6, 7);
    trace::trace_never(1);
    trace::trace_linux(7);
    trace::trace_last__one(0xffffffff00000000, -1);
    println!(
        "nothing {} never {}",
        trace::enabled::trace_nothing(),
        trace::enabled::trace_never()
    );
}
