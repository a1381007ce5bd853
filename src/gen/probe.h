/* SPDX-License-Identifier: MIT */
#pragma once

/* Values for the templates of dtrace's probes and LTTng's tracepoints. */

#include "gen/state.h"

/* The event's format with macros expanded; NULL: none, or unknown. */
const char *gen_format_meaning(const struct gen_event *event);

/* Writes the argument's declared name, followed by as many '_' as necessary so that it is neither RESERVED nor another
 * argument's name. */
void gen_put_free_name(struct text *out, const struct gen_event *event,
                       const struct gen_argument *argument, bool (*reserved)(const char *name));

/* The provider of the event's probes: an identifier. */
void gen_put_provider(struct gen_state *state);
void gen_put_provider_upper(struct gen_state *state);
/* The event's name in the macros of dtrace -h: in capitals, with each pair of '_' joined to one. */
void gen_put_probe_macro(struct gen_state *state);
/* "const char * name, uint32_t value_": the arguments in dtrace's language. */
void gen_put_d_params(struct gen_state *state);
/* "int, a, const char *, b" for TP_ARGS(). An error if there are more than it accepts. */
void gen_put_ust_args(struct gen_state *state);
/* The argument's name in the trace, as declared. */
void gen_put_ust_field(struct gen_state *state);
/* "trace-ust-GROUP.h": the name of the header that ust-events-h makes. */
void gen_put_ust_header(struct gen_state *state);

/* True if compilers, or headers that generated code includes, define the event's name as a macro. */
bool gen_name_is_macro(const struct gen_state *state);
/* True if the format shows the current argument in hexadecimal. */
bool gen_in_hex(const struct gen_state *state);
/* True if no event generates a probe. */
bool gen_all_disabled(const struct gen_state *state);
