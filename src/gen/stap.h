/* SPDX-License-Identifier: MIT */
#pragma once

/* What SystemTap needs of an event: no reserved words as names, and printf formats converted to its
 * own. */

#include "gen/state.h"

/* The name of the argument at hand. */
void gen_put_stap_arg(struct gen_state *state);

/* The event's format, as the inside of a string of stap: no size modifiers, only the conversions that
 * it has. */
void gen_put_stap_format(struct gen_state *state);
/* The arguments of these conversions: ", a, b & 0xffffffff", "__str3" for the text of argument 3. */
void gen_put_stap_values(struct gen_state *state);
/* True if the format prints the current argument as text, not as a number. */
bool gen_stap_text(const struct gen_state *state);

/* Bytes of a simpletrace record of the event: "36 + __len2", where argument 2 is a string. */
void gen_put_stap_size(struct gen_state *state);
