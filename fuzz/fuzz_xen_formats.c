/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "print/xentrace_format_text.h"
#include "schema/xen/formats.h"

/* The first byte chooses the values, the rest is a file of formats. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xen_formats formats = {0};
    struct error error = {0};
    struct arena arena = {0};
    struct text text = TEXT_IN_MEMORY;
    struct xentrace_values values = {0};
    bool seconds;
    int r;

    if (size == 0)
        return 0;
    seconds = data[0] & 1;
    for (unsigned i = 0; i < VALUES; i++)
        values.v[i] = data[0] & 2 ? UINT64_MAX >> (i * 5) : 65 + i;
    values.reltsc_negative = data[0] & 4;
    values.seconds = !seconds ? 0 : data[0] & 8 ? -1e19 : 1234.000001;

    r = xen_formats_parse(&formats, "f", (const char *)data + 1, size - 1, &error);
    if ((r < 0) != (error.code < 0))
        abort();
    text_put_char(&text, ' ');
    for (unsigned i = 0; i < formats.n_rules; i++) {
        const struct xentrace_rule *rule;

        error_clear(&error);
        text.next = text.start;
        if (xentrace_rule_compile(&arena, formats.rules[i].format, formats.rules[i].len, seconds,
                                  &rule) < 0)
            abort();
        r = xentrace_rule_put(rule, &values, &text, &error);
        if ((r < 0) != (error.code < 0) || (r < 0 && text_len(&text) > 0))
            abort();
    }
    xen_formats_done(&formats);
    arena_done(&arena);
    text_done(&text);
    return 0;
}
