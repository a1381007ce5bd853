/* SPDX-License-Identifier: MIT */
/* Guests' clocks, and how they relate to the host's. */

#include <string.h>

#include "timeline/relate.h"
#include "trace/open.h"

static int read_pairs(const struct opening *opening, uint64_t hz, struct relation **ret,
                      struct fault *fault)
{
    const char *pairs = opening->recorded ? opening->recorded->clock.pairs : NULL;
    _cleanup_free_ struct relation *relation = NULL;
    _cleanup_free_ char *path = NULL;
    int r;

    if (!pairs)
        return fault_plain(fault, -ENODATA, opening->given,
                           "nothing relates its clock to the host's; --host-time is for traces "
                           "that 'strata collect' made of guests whose clock could be read");
    relation = calloc(1, sizeof *relation);
    if (!relation)
        return fault_plain(fault, -ENOMEM, NULL, "out of memory");
    r = manifest_resolve(opening->given, pairs, &path, fault);
    if (r >= 0)
        r = relation_read(path, hz, relation, fault);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(relation);
    return 0;
}

int host_time_open(struct opening *opening, unsigned first_origin, struct relation **ret_relation,
                   struct fault *fault)
{
    struct catalogue *catalogue = &opening->trace->catalogue;
    bool wanted = opening->options->host_time;
    bool is_host = true;
    struct relation *relation = NULL;
    int r;

    for (unsigned i = first_origin; i < catalogue->n_origins; i++)
        is_host = is_host && strcmp(catalogue->origins[i]->clock.name, "monotonic") == 0;
    if (!opening->recorded || !opening->recorded->guest) {
        /* The host's own traces are in its time already. */
        if (!wanted || is_host)
            return 0;
    } else if (!wanted && !opening->recorded->clock.pairs) {
        return 0;
    }
    r = read_pairs(opening, catalogue->origins[first_origin]->clock.hz, &relation, fault);
    if (r < 0) {
        /* Who does not want the host's time can do without. */
        if (!wanted && r != -ENOMEM) {
            fault_clear(fault);
            return 0;
        }
        return r;
    }
    *ret_relation = relation;
    for (unsigned i = first_origin; i < catalogue->n_origins; i++) {
        struct clock *clock = &catalogue->origins[i]->clock;

        if (wanted)
            *clock = (struct clock){"monotonic", NANOSECONDS};
        else if (clock->hz == 0)
            clock->hz = relation->hz;
    }
    for (unsigned i = 0; wanted && i < opening->n_sources; i++) {
        struct source *source = opening->sources[i];

        opening->sources[i] = NULL;
        if (relate_open(source, relation, &opening->sources[i]) < 0)
            return fault_plain(fault, -ENOMEM, NULL, "out of memory");
    }
    return 0;
}

const char *host_time_of(const struct trace *trace, const struct trace_part *part)
{
    if (trace->host_time)
        return "host";
    return part->recorded && part->recorded->guest && part->recorded->guest->boot_id
               ? part->recorded->guest->boot_id
               : "";
}
