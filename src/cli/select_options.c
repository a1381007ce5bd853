/* SPDX-License-Identifier: MIT */
#include "cli/select_options.h"

#include <ctype.h>

#include "base/macro.h"

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

/* A time after the start of the trace can be compared with one of its clock only when the start is known: not here. */
static int check_order(const struct select_options *options, struct error *error)
{
    const struct time_limit *from = &options->from, *to = &options->to;

    if (from->given && to->given && from->relative == to->relative &&
        (from->whole > to->whole || (from->whole == to->whole && from->ns > to->ns)))
        return error_set(error, -EINVAL, NULL, "leaves no time: --from is after --until");
    return 0;
}

static int parse_from(void *member, const char *value, struct error *error)
{
    int r = select_parse_time(member, value, error);

    return r < 0
               ? r
               : check_order(container_of((struct time_limit *)member, struct select_options, from),
                             error);
}

static int parse_until(void *member, const char *value, struct error *error)
{
    int r = select_parse_time(member, value, error);

    return r < 0 ? r
                 : check_order(container_of((struct time_limit *)member, struct select_options, to),
                               error);
}

#define MEMBER(m) offsetof(struct select_options, m)

#define EVENTS_OPTION                                                                           \
    {                                                                                           \
        OPTION_LIST, 'e', "event", "GLOB",                                                      \
            "only events whose name matches; GROUP:NAME matches the group too, LAYER:NAME the " \
            "layer; -GLOB leaves out; the last match decides",                                  \
            MEMBER(events),                                                                     \
            .page = "In a pattern, '*' matches any characters and '?' matches one: 'sched:*', " \
                    "'guest:sched:*'. LAYER:GROUP:NAME matches all three. An event that no "    \
                    "pattern matches is left out, unless the first pattern begins with '-'."    \
    }
#define FROM_OPTION                                                                             \
    {                                                                                           \
        OPTION_PARSED, 0, "from", "TIME",                                                       \
            "only from TIME on: seconds as printed, or +SECONDS after the start", MEMBER(from), \
            .parse = parse_from,                                                                \
            .page = "The start is the first event or loss of the trace. If the clock rate is "  \
                    "unknown, TIME is a number of ticks."                                       \
    }
#define UNTIL_OPTION                                                                    \
    {                                                                                   \
        OPTION_PARSED, 0, "until", "TIME", "only up to and including TIME", MEMBER(to), \
            .parse = parse_until                                                        \
    }
#define LIMIT_OPTION                                                                \
    {                                                                               \
        OPTION_PARSED, 'n', "limit", "N", "only the first N events", MEMBER(limit), \
            .parse = parse_limit                                                    \
    }
#define LAYER_OPTION                                                                       \
    {                                                                                      \
        OPTION_PARSED, 0, "layer", "LIST", "only these layers: guest,vmm", MEMBER(layers), \
            .parse = select_parse_layers,                                                  \
            .page = "The layers are 'vmm', 'hypervisor', 'guest', 'host' and 'program'."   \
    }

const struct cli_option select_option_table[] = {
    EVENTS_OPTION,
    FROM_OPTION,
    UNTIL_OPTION,
    LIMIT_OPTION,
    {OPTION_PARSED, 0, "cpu", "LIST", "only these CPUs: 0,2-5", MEMBER(cpus),
     .parse = select_parse_ranges},
    {OPTION_PARSED, 0, "pid", "LIST", "only these threads", MEMBER(pids),
     .parse = select_parse_ranges},
    {OPTION_PARSED, 0, "vcpu", "LIST", "only these vCPUs; in Xen traces, of any domain",
     MEMBER(vcpus), .parse = select_parse_ranges, .page = "An unknown vCPU does not match."},
    LAYER_OPTION,
    {OPTION_END},
};

const struct cli_option select_whole_option_table[] = {
    EVENTS_OPTION, FROM_OPTION, UNTIL_OPTION, LIMIT_OPTION, LAYER_OPTION, {OPTION_END},
};

enum what {
    WHAT_IS_READ = 1 << 0,
    WHICH_ROWS = 1 << 1,
};

static void put_given(const struct select_options *options, unsigned what, struct text *text)
{
    const struct {
        const char *name;
        unsigned what;
        bool given;
    } given[] = {
        {"--event", WHAT_IS_READ, options->events.n > 0},
        {"--from", WHAT_IS_READ | WHICH_ROWS, options->from.given},
        {"--until", WHAT_IS_READ | WHICH_ROWS, options->to.given},
        {"--cpu", WHICH_ROWS, options->cpus.n > 0},
        {"--pid", WHICH_ROWS, options->pids.n > 0},
        {"--vcpu", WHICH_ROWS, options->vcpus.n > 0},
        {"--layer", WHAT_IS_READ, options->layers != 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(given); i++)
        if (given[i].given && (given[i].what & what) != 0)
            text_printf(text, "%s%s", text_len(text) ? ", " : "", given[i].name);
}

void select_options_put_given(const struct select_options *options, struct text *text)
{
    put_given(options, WHAT_IS_READ | WHICH_ROWS, text);
}

void select_options_put_rows(const struct select_options *options, struct text *text)
{
    put_given(options, WHICH_ROWS, text);
}

void select_options_put_read(const struct select_options *options, struct text *text)
{
    put_given(options, WHAT_IS_READ, text);
}
