/* SPDX-License-Identifier: MIT */
/* What programs that link libstrata wrote in its own format. */

#include "format/ctf/ctf.h"
#include "trace/open.h"

int open_ctf_dir(struct opening *opening, struct error *error)
{
    struct source **sources;
    unsigned n;
    int r;

    r = ctf_open_dir(opening->path, &opening->trace->catalogue, &opening->reader, &sources, &n,
                     error);
    if (r < 0)
        return r;
    opening_set(opening, sources, n);
    return 0;
}
