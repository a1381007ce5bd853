/* SPDX-License-Identifier: MIT */
#include "event/spec.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The input is a format string; every conversion in it is taken apart. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    const char *p = text;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';

    while ((p = strchr(p, '%'))) {
        struct spec spec;
        const char *behind = spec_parse(p, &spec);
        unsigned bytes;

        if (!behind) {
            p++;
            continue;
        }
        /* What follows relies on these. */
        bytes = spec_size(&spec);
        if (behind <= p + 1 || behind > text + size || bytes == 0 || bytes > 8 ||
            (bytes & (bytes - 1)) != 0)
            abort();
        p = behind;
    }
    free(text);
    return 0;
}
