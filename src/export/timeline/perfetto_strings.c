/* SPDX-License-Identifier: MIT */
#include "export/timeline/perfetto_strings.h"

#include <limits.h>
#include <string.h>

#include "base/macro.h"
#include "base/utf8.h"

unsigned perfetto_number(struct perfetto_strings *strings, enum perfetto_names names, const char *s,
                         size_t len, unsigned max)
{
    bool is_new = false;
    int number = interned_get(&strings->names[names], s, len, max, &is_new);

    if (unlikely(is_new)) {
        int r = perfetto_put_name(strings->out, names, (unsigned)number, s, len);

        if (r < 0)
            number = r;
    }
    if (unlikely(number < 0)) {
        strings->error = number;
        return 0;
    }
    return (unsigned)number;
}

unsigned perfetto_text_number(struct perfetto_strings *strings, enum perfetto_names names,
                              const char *s)
{
    struct text *clean = &strings->clean;

    clean->next = clean->start;
    utf8_put(clean, s, strnlen(s, INTERNED_LEN_MAX / 3));
    return perfetto_number(strings, names, clean->start ? clean->start : "", text_len(clean),
                           UINT_MAX);
}

void perfetto_strings_done(struct perfetto_strings *strings)
{
    for (unsigned i = 0; i < PERFETTO_NAMES; i++)
        interned_done(&strings->names[i]);
    text_done(&strings->clean);
}
