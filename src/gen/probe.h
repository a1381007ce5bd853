/* SPDX-License-Identifier: MIT */
#pragma once

/* What probes of dtrace and tracepoints of LTTng need of an event. */

#include "gen/state.h"

/* The event's format with macros expanded; NULL: none, or not known. */
const char *gen_format_meaning(const struct gen_event *event);

/* Puts the argument's name as declared, with as many '_' appended as it takes to be neither RESERVED
 * nor another argument's name. */
void gen_put_free_name(struct text *out, const struct gen_event *event,
                       const struct gen_argument *argument, bool (*reserved)(const char *name));

/* The provider of the event's probes: an identifier. */
void gen_put_provider(struct gen_state *state);
void gen_put_provider_upper(struct gen_state *state);
/* The event's name in the macros that dtrace -h makes: in capitals, two '_' joined into one. */
void gen_put_probe_macro(struct gen_state *state);
/* "const char * name, uint32_t value_": the arguments in dtrace's language. */
void gen_put_d_params(struct gen_state *state);
/* "int, a, const char *, b" for TP_ARGS(). An error if there are more than it accepts. */
void gen_put_ust_args(struct gen_state *state);
/* The argument's name in the trace: as declared. */
void gen_put_ust_field(struct gen_state *state);
/* "trace-ust-GROUP.h": the name of the header that ust-events-h makes. */
void gen_put_ust_header(struct gen_state *state);

/* Compilers, or headers that generated code includes, define the event's name as a macro. */
bool gen_name_is_macro(const struct gen_state *state);
/* The format shows the argument at hand in hexadecimal. */
bool gen_in_hex(const struct gen_state *state);
/* True if no event generates a probe. */
bool gen_all_disabled(const struct gen_state *state);
