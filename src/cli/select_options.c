/* SPDX-License-Identifier: MIT */
#include "cli/select_options.h"

#include <ctype.h>

static int parse_limit(void *member, const char *value, struct fault *fault)
{
    struct select_options *options = container_of((uint64_t *)member, struct select_options, limit);
    char *end;

    errno = 0;
    options->limit = strtoull(value, &end, 10);
    options->limited = true;
    if (!isdigit((unsigned char)value[0]) || *end || errno)
        return fault_plain(fault, -EINVAL, NULL, "is not a whole number");
    return 0;
}

#define MEMBER(m) offsetof(struct select_options, m)

/* clang-format off */
#define SELECT_OPTIONS(END) \
    {OPTION_LIST, 'e', "event", "GLOB", \
     "events whose name matches; GROUP:NAME looks at the\n" \
     "group too, LAYER:NAME at the layer; -GLOB leaves out;\n" \
     "the last match decides; several with commas between,\n" \
     "or the option again", \
     MEMBER(events)}, \
    {OPTION_PARSED, 0, "from", "TIME", \
     "from TIME on: seconds as printed, +SECONDS from the\n" \
     "trace's start; ticks where the rate is not known", \
     MEMBER(from), .parse = select_parse_time}, \
    {OPTION_PARSED, 0, END, "TIME", "up to TIME, itself included", \
     MEMBER(to), .parse = select_parse_time}, \
    {OPTION_PARSED, 0, "cpu", "LIST", "events of these CPUs: 0,2-5", \
     MEMBER(cpus), .parse = select_parse_ranges}, \
    {OPTION_PARSED, 0, "pid", "LIST", "events of these threads", \
     MEMBER(pids), .parse = select_parse_ranges}, \
    {OPTION_PARSED, 0, "vcpu", "LIST", "events of these vCPUs; of Xen, of any domain", \
     MEMBER(vcpus), .parse = select_parse_ranges}, \
    {OPTION_PARSED, 0, "layer", "LIST", "events of these layers: guest,vmm", \
     MEMBER(layers), .parse = select_parse_layers}, \
    {OPTION_PARSED, 'n', "limit", "N", "the first N events and no more", \
     MEMBER(limit), .parse = parse_limit}, \
    {OPTION_END}
/* clang-format on */

const struct option select_option_table[] = {
    {OPTION_PARSED, 0, "until", "TIME", NULL, MEMBER(to), .parse = select_parse_time},
    SELECT_OPTIONS("to"),
};
const struct option select_until_option_table[] = {SELECT_OPTIONS("until")};
