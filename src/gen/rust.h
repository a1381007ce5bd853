/* SPDX-License-Identifier: MIT */
#pragma once

/* Values of the format rs (gen/variables.c lists them): the event's arguments in Rust's syntax.
 *
 * An argument's name gets the prefix `_`, so that it is never a keyword, and unused arguments cause no warnings. A
 * `const char *` is a `&CStr` for callers and a pointer for C. A backend handles an event in a C function (format c),
 * which Rust calls. */

#include "gen/state.h"

void gen_put_rust_params(struct gen_state *state); /* "_a: u32, _s: &std::ffi::CStr" */
void gen_put_rust_extern_params(
    struct gen_state *state);                      /* "_a: u32, _s: *const std::os::raw::c_char" */
void gen_put_rust_values(struct gen_state *state); /* "_a, _s.as_ptr()" */
