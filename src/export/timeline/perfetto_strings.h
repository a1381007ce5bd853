/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers names in a Perfetto trace, in four lists. A name is written once, then represented by its number. */

#include "export/timeline/interned.h"
#include "export/timeline/perfetto_packets.h"

struct perfetto_strings {
    struct text *out;
    struct interned names[PERFETTO_NAMES];
    struct text clean; /* in memory: a text converted to UTF-8 */
    int error;         /* the first error: -ENOMEM */
};

/* Returns the number of a name, or 0 if it has none, because it is too long or there are MAX. */
unsigned perfetto_number(struct perfetto_strings *strings, enum perfetto_names names, const char *s,
                         size_t len, unsigned max);
/* The same for a text that may not be UTF-8. */
unsigned perfetto_text_number(struct perfetto_strings *strings, enum perfetto_names names,
                              const char *s);
void perfetto_strings_done(struct perfetto_strings *strings);
