/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracedir/manifest.h"

/* What is read can be written, and reads as the same again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text texts[2] = {TEXT_IN_MEMORY, TEXT_IN_MEMORY};
    struct manifest manifest;
    struct error error = {0};
    int r = manifest_parse((const char *)data, size, "f", &manifest, &error);

    if ((r < 0) != (error.code < 0))
        abort();
    if (r < 0)
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        if (manifest_put(&manifest, "f", &texts[i], &error) < 0)
            abort();
        manifest_done(&manifest);
        if (manifest_parse(texts[i].start, text_len(&texts[i]), "f", &manifest, &error) < 0)
            abort();
    }
    manifest_done(&manifest);
    if (text_len(&texts[0]) != text_len(&texts[1]) ||
        memcmp(texts[0].start, texts[1].start, text_len(&texts[0])) != 0)
        abort();
    text_done(&texts[0]);
    text_done(&texts[1]);
    return 0;
}
