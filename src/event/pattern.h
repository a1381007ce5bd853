/* SPDX-License-Identifier: MIT */
#pragma once

/* How events are named on command lines and in rules:
 *
 *     EVENT = [LAYER:][GROUP:]NAME[{CONDITION}]
 *
 * GROUP and NAME may contain wildcards (base/glob.h); event_class_matches() holds a class against them. CONDITION is on the
 * event's fields; who records the event says in which language. */

#include <stddef.h>

#include "base/error.h"
#include "event/class.h"

struct event_pattern {
    unsigned layers;       /* bits: 1 << enum layer; 0: none is named */
    const char *name;      /* with its group */
    const char *condition; /* NULL: none */
};

/* Cuts TEXT into parts, to which RET points. -EINVAL with ERROR: what is wrong with TEXT. */
int event_pattern_parse(char *text, struct event_pattern *ret, struct error *error);
/* The end of the first of several patterns that TEXT has with commas between: a comma, or the end of TEXT. What is in
 * braces and quotes does not count. */
const char *event_pattern_end(const char *text);
/* The '}' that ends the condition at TEXT, which follows a '{'; NULL: there is none. What is in quotes does not count. */
const char *event_condition_end(const char *text);
