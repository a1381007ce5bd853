/* SPDX-License-Identifier: MIT */
#pragma once

/* Values of the format rs (gen/variables.c lists them): the event's arguments as Rust writes them.
 *
 * An argument is named with a `_` in front: so it is never a keyword, and none warns where nothing uses it.
 * A `const char *` is a `&CStr` for callers and a pointer for C. What a backend does with an event is
 * a function in C (format c): Rust calls it. */

#include "gen/state.h"

void gen_put_rust_params(struct gen_state *state); /* "_a: u32, _s: &std::ffi::CStr" */
void gen_put_rust_extern_params(
    struct gen_state *state);                      /* "_a: u32, _s: *const std::os::raw::c_char" */
void gen_put_rust_values(struct gen_state *state); /* "_a, _s.as_ptr()" */
