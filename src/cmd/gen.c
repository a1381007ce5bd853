/* SPDX-License-Identifier: MIT */
/* strata gen: generates code from declared events. */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "cmd/cmd.h"
#include "cmd/declarations.h"

struct gen_options {
    const struct gen_format *format;
    struct gen_job job; /* the backends */
    unsigned target;
    const char *group;
    const char *provider;
    const char *probe_prefix;
    const char *binary;
    const char *header;
    const char *output;
    const char *depfile;
    uint64_t max_errors;
    bool list;
};

static int parse_format(void *member, const char *value, struct error *error)
{
    const struct gen_format *format = gen_format_find(value, strlen(value));
    char all[GENERATE_LIST_MAX];

    if (format) {
        *(const struct gen_format **)member = format;
        return 0;
    }
    generate_list_formats(all, sizeof all);
    return error_set(error, -EINVAL, NULL, "is not a format (valid: %s)", all);
}

static int parse_backends(void *member, const char *value, struct error *error)
{
    char all[GENERATE_LIST_MAX];
    const char *unknown;
    size_t len;

    if (generate_backends(member, value, &unknown, &len) >= 0)
        return 0;
    generate_list_backends(all, sizeof all);
    if (len == strlen(value))
        return error_set(error, -EINVAL, NULL, "is not a backend (valid: %s)", all);
    return error_set(error, -EINVAL, NULL, "contains '%.*s', which is not a backend (valid: %s)",
                     (int)MIN(len, (size_t)40), unknown, all);
}

static const char *const targets[] = {"strata", "qemu", NULL};

#define AT(member) offsetof(struct gen_options, member)

static const struct cli_option gen_option_table[] = {
    {OPTION_PARSED, 'f', "format", "FORMAT", "what to generate (--list lists the formats)",
     AT(format), NULL, parse_format},
    {OPTION_PARSED, 0, "backend", "NAME[,NAME...]", "where events go (--list lists the backends)",
     AT(job), NULL, parse_backends,
     .page = "The spelling --backends of tracetool(1) is accepted as well."},
    {OPTION_PARSED, 0, "backends", "NAME[,NAME...]", NULL, AT(job), NULL, parse_backends},
    {OPTION_CHOICE, 0, "target", "strata|qemu",
     "generate code for a program that links libstrata, or for QEMU's own tree", AT(target),
     targets, NULL, .default_text = "strata"},
    {OPTION_STRING, 'g', "group", "NAME",
     "name of this group of events; the C file includes trace-NAME.h", AT(group), NULL, NULL,
     .page = "NAME is unique in a program. In identifiers, other characters than letters and "
             "digits become "
             "'_'."},
    {OPTION_STRING, 0, "header", "FILE", "header that the C file includes instead", AT(header),
     NULL, NULL},
    {OPTION_STRING, 0, "provider", "NAME", "provider of dtrace and ust probes", AT(provider), NULL,
     NULL, .default_text = "the group, or qemu with --target=qemu"},
    {OPTION_STRING, 0, "probe-prefix", "NAME", "prefix of SystemTap's probe names",
     AT(probe_prefix), NULL, NULL},
    {OPTION_STRING, 0, "binary", "PATH", "installed path of the program with SystemTap's probes",
     AT(binary), NULL, NULL},
    {OPTION_STRING, 'o', "output", "FILE", "output file; kept if unchanged", AT(output), NULL, NULL,
     .default_text = "standard output",
     .page = "FILE appears complete or not at all. A file with the same content is not written, so "
             "nothing "
             "is rebuilt."},
    {OPTION_STRING, 0, "depfile", "FILE", "write the dependencies of the output, for make",
     AT(depfile), NULL, NULL, .requires = "--output=FILE"},
    {OPTION_NUMBER, 0, "max-errors", "N", "print up to N errors; 0 prints all", AT(max_errors),
     NULL, NULL, .default_text = "20",
     .page = "As many warnings are printed, and the number of the others."},
    {OPTION_FLAG, 'l', "list", NULL, "list formats and backends", AT(list), NULL, NULL,
     .page = "--list-backends and --list-formats are accepted as well."},
    {OPTION_FLAG, 0, "list-backends", NULL, NULL, AT(list), NULL, NULL},
    {OPTION_FLAG, 0, "list-formats", NULL, NULL, AT(list), NULL, NULL},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0, NULL, NULL},
    {OPTION_RENAMED, 'b', "-b", "--backend", NULL, 0, NULL, NULL},
    {OPTION_RENAMED, 't', "-t", "--target", NULL, 0, NULL, NULL},
    {OPTION_END, 0, NULL, NULL, NULL, 0, NULL, NULL},
};

static const struct option_group groups[] = {
    {"Options", gen_option_table, 0},
    {NULL, NULL, 0},
};

const struct command gen_command = {
    .name = "gen",
    .summary = "generate trace code from event declarations",
    .operands = "FILE...",
    .about = "Reads event declarations, one per line, from the trace-events FILEs (-: standard\n"
             "input) and writes code that traces these events.",
    .groups = groups,
    .examples = "  strata gen -g disk -f h --backend ring,log -o trace-disk.h trace-events\n"
                "  strata gen -g disk -f c --backend ring,log -o trace-disk.c trace-events",
};

static void list_all(void)
{
    puts("Formats:");
    for (const struct gen_format *format = gen_formats; format->name; format++)
        printf("  %-22s%s\n", format->name, format->summary);
    puts("\nBackends:");
    for (const struct gen_backend *backend = gen_backends; backend->name; backend++)
        printf("  %-22s%s\n", backend->name, backend->summary);
}

/* True if no required option is missing. Otherwise prints the error, and *RET_STATUS is EXIT_USAGE. */
static bool check(const struct gen_options *options, int n, int *ret_status)
{
    const char *verb = gen_command.name;
    const struct gen_format *format = options->format;

    if (!format)
        *ret_status =
            cli_usage_error(verb, "--format=FORMAT is required (--list lists the formats)");
    else if (options->job.n_backends == 0)
        *ret_status =
            cli_usage_error(verb, "--backend=NAME is required (--list lists the backends)");
    else if ((format->needs & GEN_NEEDS_GROUP) && !options->group)
        *ret_status = cli_usage_error(verb, "format %s requires --group=NAME", format->name);
    else if ((format->needs & GEN_NEEDS_PREFIX) && !options->probe_prefix)
        *ret_status = cli_usage_error(verb, "format %s requires --probe-prefix=NAME", format->name);
    else if ((format->needs & GEN_NEEDS_BINARY) && !options->binary)
        *ret_status = cli_usage_error(verb, "format %s requires --binary=PATH", format->name);
    else if (n == 0)
        *ret_status = cli_usage_error(verb, "no trace-events file given");
    else
        return true;
    return false;
}

int cmd_gen(int argc, char **argv)
{
    struct gen_options options = {.output = "-", .max_errors = DIAGNOSE_MAX};
    struct generate job;
    int n, status;

    if (!options_parse(&gen_command, argc, argv, &options, &n, &status))
        return status;
    if (options.list) {
        list_all();
        return EXIT_SUCCESS;
    }
    if (!check(&options, n, &status))
        return status;
    job = (struct generate){
        .verb = gen_command.name,
        .job = options.job,
        .inputs = (const char *const *)argv + 1,
        .n_inputs = (unsigned)n,
        .output = options.output,
        .depfile = options.depfile,
        .rules = DECLARATION_RULES_NEWEST,
        .diagnose = diagnose_on_stderr(DIAGNOSE_STRATA, options.max_errors),
        .report = cli_print_error,
    };
    job.job.target = options.target;
    job.job.format = options.format;
    job.job.group = options.group;
    job.job.binary = options.binary;
    job.job.probe_prefix = options.probe_prefix;
    job.job.provider = options.provider;
    job.job.header = options.header;
    job.job.output_name = options.output;
    return run_generate(&job);
}
