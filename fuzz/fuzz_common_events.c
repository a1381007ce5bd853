/* SPDX-License-Identifier: MIT */
/* What the user says of common events (merge/common_events.h). */

#include <stdlib.h>
#include <string.h>

#include "merge/common_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct common_sync sync;
    struct error error = {0};
    char *given;

    if (size > 4096 || memchr(data, '\0', size))
        return 0;
    given = malloc(size + 1);
    if (given) {
        memcpy(given, data, size);
        given[size] = '\0';
    }
    if (given && common_sync_parse(given, &sync, &error) == 0) {
        if (sync.a.event[0] == '\0' || sync.b.event[0] == '\0' ||
            sync.a.n_groups != sync.b.n_groups)
            abort();
        common_sync_done(&sync);
    } else if (given && error.what[0] == '\0') {
        abort();
    }
    free(given);
    return 0;
}
