/* SPDX-License-Identifier: MIT */
#include "watch/confine.h"

#include <linux/capability.h>

#include "base/sandbox.h"

int watch_confine(const char *dir, struct error *error)
{
    const struct sandbox sandbox = {
        /* Root needs this one if the directory is not its own. */
        .capabilities = UINT32_C(1) << CAP_DAC_READ_SEARCH,
        .max_memory = WATCH_MEMORY_MAX,
        .dir = dir,
        .may_connect = true, /* to the recorder's socket */
    };
    struct error why = {0};
    unsigned measures;
    int r = sandbox_enter(&sandbox, &measures, &why);

    return r < 0 ? error_set(error, r, dir, "cannot confine the process that watches it: %s",
                             why.what)
                 : 0;
}
