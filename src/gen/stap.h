/* SPDX-License-Identifier: MIT */
#pragma once

/* Values for SystemTap: names that are not reserved words, and printf formats converted to SystemTap's formats. */

#include "gen/state.h"

/* The name of the current argument. */
void gen_put_stap_arg(struct gen_state *state);

/* The event's format as the content of a string of stap: no size modifiers, only conversions that stap has. */
void gen_put_stap_format(struct gen_state *state);
/* The arguments of these conversions: ", a, b & 0xffffffff", "__str3" for the text of argument 3. */
void gen_put_stap_values(struct gen_state *state);
/* True if the format prints the current argument as text, not as a number. */
bool gen_stap_text(const struct gen_state *state);

/* The size of a simpletrace record of the event: "36 + __len2" if argument 2 is a string. */
void gen_put_stap_size(struct gen_state *state);
