/* SPDX-License-Identifier: MIT */
#pragma once

/* Names in a Perfetto trace: written once, then a number, in one of four lists. */

#include "export/timeline/interned.h"
#include "export/timeline/perfetto_packets.h"

struct perfetto_strings {
    struct text *out;
    struct interned names[PERFETTO_NAMES];
    struct text clean; /* in memory: what was no UTF-8 */
    int error;         /* the first one: -ENOMEM */
};

/* The number of a name, 0: it has none, as it is too long or there are MAX. */
unsigned perfetto_number(struct perfetto_strings *strings, enum perfetto_names names, const char *s,
                         size_t len, unsigned max);
/* The same of a text that may not be UTF-8. */
unsigned perfetto_text_number(struct perfetto_strings *strings, enum perfetto_names names,
                              const char *s);
void perfetto_strings_done(struct perfetto_strings *strings);
