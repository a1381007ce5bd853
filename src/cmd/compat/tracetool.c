/* SPDX-License-Identifier: MIT */
/* tracetool: accepts the arguments of QEMU's tracetool.py of versions 2.x to 10.x, and generates code for QEMU's own
 * tree. Messages go to standard error, and nearly all errors exit with 1, as there. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/declarations.h"

struct tracetool_options {
    const char *backends;
    const char *format;
    const char *group;
    const char *binary;
    const char *probe_prefix;
    const char *target_type;
    const char *target_name;
    const char *provider; /* Strata's own */
    const char *header;   /* Strata's own */
    const char *target;   /* Strata's own; "qemu" is implied */
    const char *depfile;  /* Strata's own */
    bool help, list_backends, check_backends;
};

struct long_option {
    const char *name;
    const char *argument; /* NULL for a flag */
    const char *help;
    size_t offset;
    /* Strata's own. It cannot be abbreviated, because this would make other options' abbreviations ambiguous */
    bool ours;
};

#define AT(member) offsetof(struct tracetool_options, member)

static const struct long_option long_options[] = {
    {"format", "NAME", "what to generate", AT(format), false},
    {"backends", "NAME[,NAME]...", "what an event does", AT(backends), false},
    {"group", "NAME", "the group of the events", AT(group), false},
    {"binary", "PATH", "QEMU's program, for stap", AT(binary), false},
    {"probe-prefix", "NAME", "of SystemTap's probes; qemu.TYPE.NAME otherwise", AT(probe_prefix),
     false},
    {"target-type", "TYPE", "system or user", AT(target_type), false},
    {"target-name", "NAME", "the emulated machine", AT(target_name), false},
    {"list-backends", NULL, "print the names of the backends", AT(list_backends), false},
    {"check-backends", NULL, "exit with 1 if a backend is unknown", AT(check_backends), false},
    {"help", NULL, "print this", AT(help), false},
    {"depfile", "FILE", "not of QEMU's tool: as for strata gen", AT(depfile), true},
    {"header", "FILE", "not of QEMU's tool: as for strata gen", AT(header), true},
    {"provider", "NAME", "not of QEMU's tool: as for strata gen", AT(provider), true},
    {"target", "qemu|strata", "not of QEMU's tool: as for strata gen", AT(target), true},
};

static void print_help(FILE *out)
{
    fputs("Usage: tracetool --format=NAME --backends=NAME[,NAME]... [OPTION]... FILE... OUTPUT\n"
          "       tracetool ... [FILE]                  to standard output\n"
          "       tracetool ... FILE... trace-events    the same, of several files\n"
          "\n"
          "Makes code for QEMU's tree from declarations of events, as QEMU's tracetool.py does.\n"
          "\n"
          "Backends:\n",
          out);
    for (const struct gen_backend *backend = gen_backends; backend->name; backend++)
        fprintf(out, "    %-22s%s\n", backend->name, backend->summary);
    fputs("\nFormats:\n", out);
    for (const struct gen_format *format = gen_formats; format->name; format++)
        fprintf(out, "    %-22s%s\n", format->name, format->summary);
    fputs("\nOptions:\n", out);
    for (size_t i = 0; i < ARRAY_SIZE(long_options); i++) {
        char left[64];

        snprintf(left, sizeof left, "--%s%s%s", long_options[i].name,
                 long_options[i].argument ? " " : "",
                 long_options[i].argument ? long_options[i].argument : "");
        fprintf(out, "    %-30s%s\n", left, long_options[i].help);
    }
}

/* Prints what is wrong with the arguments. The Python program then also prints its whole help. */
static int _printf_(1, 2) wrong(const char *format, ...)
{
    char what[600];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    cli_message("Error: %s", what);
    return EXIT_FAILURE;
}

/* Finds the option WORD, by its whole name or an unambiguous prefix, as in getopt. NULL if there is none or several,
 * with the error printed. */
static const struct long_option *find_option(const char *word, size_t len)
{
    const struct long_option *found = NULL;
    bool several = false;

    for (size_t i = 0; i < ARRAY_SIZE(long_options); i++) {
        const char *name = long_options[i].name;

        if (strncmp(name, word, len) != 0)
            continue;
        if (name[len] == '\0')
            return &long_options[i];
        if (long_options[i].ours)
            continue;
        several = several || found;
        found = &long_options[i];
    }
    if (!found)
        wrong("option --%.*s not recognized", (int)MIN(len, (size_t)60), word);
    else if (several)
        wrong("option --%.*s is ambiguous", (int)MIN(len, (size_t)60), word);
    return several ? NULL : found;
}

/* Options end at the first operand, as in Python's getopt. *RET_NEXT: the first operand. */
static int parse(int argc, char **argv, struct tracetool_options *options, int *ret_next)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
        const char *word = argv[i] + 2;
        size_t len = strcspn(word, "=");
        const struct long_option *option;
        void *member;

        if (argv[i][1] != '-')
            return wrong("option -%c not recognized", argv[i][1]);
        if (*word == '\0') {
            i++;
            break;
        }
        option = find_option(word, len);
        if (!option)
            return EXIT_FAILURE;
        member = (char *)options + option->offset;
        if (!option->argument) {
            if (word[len] == '=')
                return wrong("option --%s must not have an argument", option->name);
            *(bool *)member = true;
            continue;
        }
        if (word[len] != '=' && i + 1 >= argc)
            return wrong("option --%s requires argument", option->name);
        *(const char **)member = word[len] == '=' ? word + len + 1 : argv[++i];
    }
    *ret_next = i;
    return EXIT_SUCCESS;
}

static int list_backends(void)
{
    for (const struct gen_backend *backend = gen_backends; backend->name; backend++)
        printf("%s%s", backend == gen_backends ? "" : ", ", backend->name);
    putchar('\n');
    return EXIT_SUCCESS;
}

static bool is_events_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return strcmp(name, "trace-events") == 0 || strcmp(name, "trace-events-all") == 0;
}

/* Takes the operands, in one of three forms. */
static void take_operands(const char *const *operands, unsigned n, struct generate *job)
{
    static const char *const standard_input[] = {"-"};

    job->inputs = operands;
    job->n_inputs = n;
    job->output = "-";
    if (n == 0) { /* 2.0 to 2.7 */
        job->inputs = standard_input;
        job->n_inputs = 1;
    } else if (n > 1 && !is_events_file(operands[n - 1])) { /* from 6.0 on */
        job->output = operands[n - 1];
        job->n_inputs = n - 1;
    }
}

static int take_target(const struct tracetool_options *options, enum gen_target *ret)
{
    if (!options->target || strcmp(options->target, "qemu") == 0)
        *ret = GEN_QEMU;
    else if (strcmp(options->target, "strata") == 0)
        *ret = GEN_STRATA;
    else
        return wrong("unknown target '%s' (valid: qemu, the default, and strata)", options->target);
    return EXIT_SUCCESS;
}

static int take_backends(const struct tracetool_options *options, struct gen_job *job)
{
    char all[GENERATE_LIST_MAX];
    const char *unknown;
    size_t len;

    if (generate_backends(job, options->backends, &unknown, &len) >= 0)
        return EXIT_SUCCESS;
    if (options->check_backends)
        return EXIT_FAILURE; /* without a word */
    generate_list_backends(all, sizeof all);
    return wrong("unknown backend: '%.*s' (valid: %s)", (int)MIN(len, (size_t)60), unknown, all);
}

/* Checks what the formats for SystemTap require. */
static int take_stap(const struct tracetool_options *options, struct gen_job *job, char *prefix,
                     size_t size)
{
    job->binary = options->binary;
    job->probe_prefix = options->probe_prefix;
    if ((job->format->needs & GEN_NEEDS_BINARY) && !options->binary)
        return wrong("--binary is required for the format %s", job->format->name);
    if (!(job->format->needs & GEN_NEEDS_PREFIX) || options->probe_prefix)
        return EXIT_SUCCESS;
    if (!options->target_type || !options->target_name)
        return wrong("--probe-prefix, or --target-type and --target-name, are required for the "
                     "format %s",
                     job->format->name);
    if ((size_t)snprintf(prefix, size, "qemu.%s.%s", options->target_type, options->target_name) >=
        size)
        return wrong("--target-type and --target-name are too long");
    job->probe_prefix = prefix;
    return EXIT_SUCCESS;
}

static int run(const struct tracetool_options *options, const char *const *operands, unsigned n)
{
    struct generate job = {
        .verb = "tracetool",
        .depfile = options->depfile,
        .diagnose = diagnose_on_stderr(DIAGNOSE_TRACETOOL, DIAGNOSE_MAX),
        .report = cli_print_error,
    };
    char prefix[256];
    int status;

    if (!options->backends)
        return wrong("no backends specified");
    status = take_backends(options, &job.job);
    if (status != EXIT_SUCCESS)
        return status;
    if (options->check_backends)
        return EXIT_SUCCESS;
    if (!options->format || !*options->format)
        return wrong("format not set");
    job.job.format = gen_format_find(options->format, strlen(options->format));
    if (!job.job.format)
        return wrong("unknown format: %s", options->format);
    status = take_target(options, &job.job.target);
    if (status != EXIT_SUCCESS)
        return status;
    /* The form without files is older than the groups. */
    if (n > 0 && !options->group)
        return wrong("group name is required");
    status = take_stap(options, &job.job, prefix, sizeof prefix);
    if (status != EXIT_SUCCESS)
        return status;
    take_operands(operands, n, &job);
    if (job.depfile && strcmp(job.output, "-") == 0)
        return wrong("--depfile requires an OUTPUT file");
    job.rules = DECLARATION_RULES_NEWEST;
    job.job.group = options->group;
    job.job.provider = options->provider;
    job.job.header = options->header;
    job.job.output_name = job.output;
    return run_generate(&job);
}

int cmd_tracetool(int argc, char **argv)
{
    struct tracetool_options options = {0};
    int next = 1, status;

    status = parse(argc, argv, &options, &next);
    if (status != EXIT_SUCCESS)
        return status;
    if (options.help) {
        print_help(stdout);
        return EXIT_SUCCESS;
    }
    if (options.list_backends)
        return list_backends();
    return run(&options, (const char *const *)argv + next, (unsigned)(argc - next));
}
