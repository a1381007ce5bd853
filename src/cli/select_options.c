/* SPDX-License-Identifier: MIT */
#include "cli/select_options.h"

#include <ctype.h>

static int parse_limit(void *member, const char *value, struct error *error)
{
    struct select_options *options = container_of((uint64_t *)member, struct select_options, limit);
    char *end;

    errno = 0;
    options->limit = strtoull(value, &end, 10);
    options->limited = true;
    if (!isdigit((unsigned char)value[0]) || *end || errno)
        return error_set(error, -EINVAL, NULL, "is not a whole number");
    return 0;
}

#define MEMBER(m) offsetof(struct select_options, m)

#define EVENTS_OPTION                                                  \
    {                                                                  \
        OPTION_LIST, 'e', "event", "GLOB",                             \
            "only events whose name matches; GROUP:NAME matches the\n" \
            "group too, LAYER:NAME the layer; -GLOB leaves out; the\n" \
            "last match decides; comma-separated, repeatable",         \
            MEMBER(events)                                             \
    }
#define FROM_OPTION                                                \
    {                                                              \
        OPTION_PARSED, 0, "from", "TIME",                          \
            "only from TIME on: seconds as printed, or +SECONDS\n" \
            "after the start; ticks if the clock rate is unknown", \
            MEMBER(from), .parse = select_parse_time               \
    }
#define UNTIL_OPTION                                                                    \
    {                                                                                   \
        OPTION_PARSED, 0, "until", "TIME", "only up to and including TIME", MEMBER(to), \
            .parse = select_parse_time                                                  \
    }
#define LIMIT_OPTION                                                                \
    {                                                                               \
        OPTION_PARSED, 'n', "limit", "N", "only the first N events", MEMBER(limit), \
            .parse = parse_limit                                                    \
    }
#define LAYER_OPTION                                                                       \
    {                                                                                      \
        OPTION_PARSED, 0, "layer", "LIST", "only these layers: guest,vmm", MEMBER(layers), \
            .parse = select_parse_layers                                                   \
    }

const struct option select_option_table[] = {
    EVENTS_OPTION,
    FROM_OPTION,
    UNTIL_OPTION,
    LIMIT_OPTION,
    {OPTION_PARSED, 0, "cpu", "LIST", "only these CPUs: 0,2-5", MEMBER(cpus),
     .parse = select_parse_ranges},
    {OPTION_PARSED, 0, "pid", "LIST", "only these threads", MEMBER(pids),
     .parse = select_parse_ranges},
    {OPTION_PARSED, 0, "vcpu", "LIST", "only these vCPUs; in Xen traces, of any domain",
     MEMBER(vcpus), .parse = select_parse_ranges},
    LAYER_OPTION,
    {OPTION_END},
};

const struct option select_whole_option_table[] = {
    EVENTS_OPTION, FROM_OPTION, UNTIL_OPTION, LIMIT_OPTION, LAYER_OPTION, {OPTION_END},
};
