/* SPDX-License-Identifier: MIT */
/* simpletrace [--no-header] EVENTS TRACE: QEMU's simpletrace.py, with its arguments, output and exit statuses. Error
 * messages have the words of that program if scripts may look for them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/declarations.h"
#include "format/simpletrace/simpletrace.h"
#include "print/simpletrace_text.h"

#define OUTPUT_SIZE ((size_t)128 * 1024)

static const char help[] =
    "Usage: simpletrace [--as=7.2|10] [--no-header] EVENTS TRACE\n"
    "\n"
    "Prints the binary TRACE of QEMU's simple trace backend as QEMU's simpletrace.py does.\n"
    "EVENTS is the trace-events file that it was built with (trace-events-all); TRACE may be -\n"
    "for standard input.\n"
    "\n"
    "  --as=10       print as QEMU 10's program does: with a blank at the end of each line that "
    "has no\n"
    "                arguments\n"
    "  --no-header   TRACE has no file header; ids are positions in EVENTS\n"
    "  --help        print this\n";

static int read_events(const char *path, struct declarations *declarations,
                       struct qemu_events *events)
{
    struct diagnose diagnose = diagnose_on_stderr(DIAGNOSE_TRACETOOL, DIAGNOSE_MAX);
    struct error error = {0};
    int r = diagnose_read(&diagnose, declarations, path, &error);

    if (error.code)
        cli_print_error(&error);
    diagnose_end(&diagnose);
    if (r < 0)
        return r;
    r = qemu_events_init(declarations, events);
    if (r < 0)
        cli_error("out of memory");
    return r;
}

/* Reports why an item could not be printed. */
static void report_item(const char *path, const struct item *item, int error)
{
    const struct event_class *class = item->class;

    if (error == -ENOENT)
        fprintf(stderr,
                "'%s' event is logged but is not declared in the trace events file, try using "
                "trace-events-all instead.\n",
                class->name);
    else if (error == -EBADMSG)
        cli_error("%s: a record of '%s' is shorter than %s:%" PRIu32
                  " declares; give the events file of the QEMU that wrote the trace",
                  path, class->name, class->declared_in, class->declared_line);
    else
        cli_error("out of memory");
}

static int print_all(struct source *source, const char *path, struct simpletrace_text *printer,
                     struct text *out)
{
    const struct item *items;
    int n, r;

    while ((n = source_next(source, &items)) > 0) {
        unsigned done;

        r = simpletrace_text_put(printer, items, (unsigned)n, &done);
        if (r < 0) {
            text_flush(out);
            report_item(path, &items[done], r);
            return r;
        }
        if (out->error)
            return out->error;
    }
    r = text_flush(out);
    if (n < 0)
        cli_print_error(&source->error);
    return n < 0 ? n : r;
}

/* Takes ownership of IN. */
static int print_trace(struct input *in, const char *path,
                       const struct simpletrace_options *options, unsigned style)
{
    _cleanup_(catalogue_done) struct catalogue catalogue = {0};
    _cleanup_(simpletrace_text_freep) struct simpletrace_text *printer = NULL;
    _cleanup_(source_freep) struct source *source = NULL;
    _cleanup_(text_done) struct text out = TEXT_IN_MEMORY;
    struct error error = {0};
    int r;

    r = simpletrace_open(in, &catalogue, options, &source, &error);
    if (r < 0) {
        cli_print_error(&error);
        return r;
    }
    r = output_open(&out, OUTPUT_RAW, OUTPUT_SIZE);
    if (r >= 0)
        r = simpletrace_text_new(
            &out, style | (simpletrace_version(source) < 3 ? SIMPLETRACE_NO_PID : 0), &printer);
    if (r < 0) {
        cli_error("out of memory");
        return r;
    }
    r = print_all(source, path, printer, &out);
    if (out.error && out.error != -EPIPE)
        cli_error("cannot write: %s", strerror(-out.error));
    return r;
}

static int run(const char *events_path, const char *trace_path, struct simpletrace_options *options,
               unsigned style)
{
    _cleanup_(declarations_done) struct declarations declarations = {0};
    _cleanup_(qemu_events_done) struct qemu_events events = {0};
    _cleanup_(input_done) struct input in = {.fd = -1};
    struct error error = {0};
    int r;

    r = input_open(&in, trace_path, SIMPLETRACE_INPUT_SIZE, &error);
    if (r >= 0)
        r = input_need(&in, SIMPLETRACE_HEAD_SIZE, &error);
    if (r < 0) {
        cli_print_error(&error);
        return r;
    }
    /* QEMUs that wrote such files had types of their own and did not check them. */
    if (!options->no_header && r > 0 && simpletrace_is_old(input_at(&in), SIMPLETRACE_HEAD_SIZE))
        declarations.rules = DECLARE_ANY_TYPE;
    r = read_events(events_path, &declarations, &events);
    if (r < 0)
        return r;
    options->events = &events;
    return print_trace(&in, trace_path, options, style);
}

int cmd_simpletrace(int argc, char **argv)
{
    struct simpletrace_options options = {0};
    const char *name = argv[0];
    unsigned style = 0;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return EXIT_SUCCESS;
    }
    if (argc > 1 && strncmp(argv[1], "--as=", 5) == 0) {
        if (strcmp(argv[1], "--as=10") == 0) {
            style = SIMPLETRACE_AS_10;
        } else if (strcmp(argv[1], "--as=7.2") != 0) {
            cli_error("invalid option '%s' (valid: --as=7.2, the default, and --as=10)", argv[1]);
            return EXIT_FAILURE;
        }
        argc--;
        argv++;
    }
    if (argc == 4 && strcmp(argv[1], "--no-header") == 0) {
        options.no_header = true;
        argv++;
    } else if (argc != 3) {
        fprintf(stderr, "usage: %s [--no-header] <trace-events> <trace-file>\n", name);
        return EXIT_FAILURE; /* as simpletrace.py, not EXIT_USAGE */
    }
    return run(argv[1], argv[2], &options, style) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
