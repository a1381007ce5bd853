/* SPDX-License-Identifier: MIT */
/* xentrace_format [-c MHZ] FORMATS <RAW: the filter of Xen up to 4.18, with its arguments, output and exit statuses.
 * Like the original, it handles records in the order of the file, and keeps the last time of each cpu and one set of
 * counters for all interrupts. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"
#include "base/map.h"
#include "base/text.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "format/xentrace/record.h"
#include "print/xentrace_format_text.h"
#include "schema/xen/formats.h"

#define OUTPUT_SIZE ((size_t)256 * 1024)
#define RULES_CACHE 4096
/* The original has no limit. */
#define CPUS_MAX ((uint32_t)1 << 20)
#define VECTORS 256
/* The number of subcalls in the original, which is wrong. The real number is 0x20200e. */
#define MASKED_SUBCALL 0x20100eu

static const char help[] =
    "Usage: xentrace_format [-c MHZ] FORMATS <RAW\n"
    "\n"
    "Prints what xentrace recorded, a line for each record, by the rules of the file FORMATS, as "
    "the\n"
    "xentrace_format of Xen up to 4.18 does. A rule is an event's number, blanks, and a format "
    "such as\n"
    "    0x00028004  CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  wake [ dom:vcpu = 0x%(1)04x%(2)04x ]\n"
    "\n"
    "  -c MHZ    the time stamp counter's rate: %(tsc) is then in seconds\n"
    "  --help    print this\n";

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

struct cached_rule {
    uint32_t key; /* event + 1 */
    const struct xentrace_rule *rule;
};

struct formatter {
    struct xen_formats formats;
    struct arena arena;                  /* owns the compiled rules */
    struct map rules;                    /* by event: struct xentrace_rule */
    const struct xentrace_rule *unknown; /* rule for 0, or NULL */
    struct cached_rule cache[RULES_CACHE];

    int64_t mhz;     /* 0: times are cycles */
    bool big_endian; /* of the words in the input */
    bool cpu_known;
    uint32_t cpu;
    uint64_t *last_tsc; /* by cpu */
    uint32_t n_cpus;
    uint64_t irq_count;
    uint64_t irq_cycles;
    uint64_t irq_max;

    struct text out;
    struct error error;
};

static void formatter_done(struct formatter *f)
{
    xen_formats_done(&f->formats);
    map_done(&f->rules);
    arena_done(&f->arena);
    free(f->last_tsc);
    text_done(&f->out);
}

static int compile_rules(struct formatter *f)
{
    for (unsigned i = 0; i < f->formats.n_rules; i++) {
        const struct xen_format_rule *rule = &f->formats.rules[i];
        const struct xentrace_rule *compiled;

        if (rule->id > 0x0fffffff)
            continue; /* no event has it */
        if (xentrace_rule_compile(&f->arena, rule->format, rule->len, f->mhz != 0, &compiled) < 0 ||
            map_put(&f->rules, rule->id, (void *)compiled) < 0)
            return -ENOMEM;
    }
    f->unknown = map_get(&f->rules, 0);
    return 0;
}

static inline const struct xentrace_rule *rule_of(struct formatter *f, uint32_t event)
{
    struct cached_rule *cached = &f->cache[event * 0x9e3779b1u >> 20];

    if (unlikely(cached->key != event + 1)) {
        const struct xentrace_rule *rule = map_get(&f->rules, event);
        *cached = (struct cached_rule){event + 1, rule ? rule : f->unknown};
    }
    return cached->rule;
}

/* Makes last_tsc large enough for the current cpu. */
static int reach_cpu(struct formatter *f)
{
    uint32_t n = f->cpu + 1;
    uint64_t *bigger;

    if (f->cpu >= CPUS_MAX)
        return error_set(&f->error, -EBADMSG, "standard input",
                         "invalid cpu %" PRIu32 " in a cpu_change record", f->cpu);
    bigger = realloc(f->last_tsc, n * sizeof *bigger);
    if (!bigger)
        return error_set(&f->error, -ENOMEM, "", "out of memory");
    memset(bigger + f->n_cpus, 0, (n - f->n_cpus) * sizeof *bigger);
    f->last_tsc = bigger;
    f->n_cpus = n;
    return 0;
}

/* Counts an interrupt. 1 to continue; 0 if the original ends its output here. */
static int count_irq(struct formatter *f, struct xentrace_values *values)
{
    uint64_t *words = &values->v[VALUE_1];
    uint64_t cycles;

    if (words[2] < words[1])
        return 0;
    if (words[0] >= VECTORS)
        return error_set(&f->error, -EBADMSG, "standard input",
                         "a record of an interrupt has vector %" PRIu64 " (IndexError)", words[0]);
    cycles = words[2] - words[1];
    f->irq_count++;
    f->irq_cycles += cycles;
    f->irq_max = MAX(f->irq_max, cycles);
    words[1] = f->irq_count;
    words[2] = f->irq_cycles;
    words[3] = f->irq_max;
    return 1;
}

static void put_stepped_backward(struct formatter *f, uint64_t tsc, uint64_t last)
{
    text_put_literal(&f->out, "TSC stepped backward cpu ");
    text_put_u64(&f->out, f->cpu);
    text_put_literal(&f->out, " !  ");
    text_put_u64(&f->out, tsc);
    text_put_char(&f->out, ' ');
    text_put_u64(&f->out, last);
    text_put_char(&f->out, '\n');
}

/* Handles the record at P. 1 to continue; 0 at the end of the output; a negative errno with the error. */
static inline int put_record(struct formatter *f, uint32_t header, const uint8_t *p)
{
    uint32_t event = xentrace_event(header);
    unsigned n = xentrace_words(header);
    bool has_tsc = xentrace_has_tsc(header);
    struct xentrace_values values = {0};
    const struct xentrace_rule *rule;
    uint64_t tsc = 0;
    uint64_t last;
    int r;

    p += 4;
    if (has_tsc) {
        tsc = xentrace_load(p, f->big_endian) | (uint64_t)xentrace_load(p + 4, f->big_endian) << 32;
        p += 8;
    }
    for (unsigned i = 0; i < n; i++)
        values.v[VALUE_1 + i] = xentrace_load(p + 4 * i, f->big_endian);

    if (unlikely((event & 0x0ffff000) == XEN_CLASS_GEN)) {
        if (event == XEN_CPU_CHANGE) {
            f->cpu = (uint32_t)values.v[VALUE_1];
            f->cpu_known = true;
        } else if (event == XEN_TRACE_IRQ) {
            r = count_irq(f, &values);
            if (r <= 0)
                return r;
        }
    } else if (event == XEN_HYPERCALL_V2 || event == MASKED_SUBCALL) {
        values.v[VALUE_1] &= 0xfffff;
    }

    if (unlikely(!f->cpu_known))
        return error_at(&f->error, -EBADMSG, "standard input", 0,
                        "does not begin with a CPU_CHANGE record as xentrace writes it "
                        "(NameError)");
    if (unlikely(f->cpu >= f->n_cpus)) {
        r = reach_cpu(f);
        if (r < 0)
            return r;
    }
    last = f->last_tsc[f->cpu];
    if (has_tsc) {
        if (unlikely(tsc < last))
            put_stepped_backward(f, tsc, last);
        if (last > 0) {
            values.reltsc_negative = tsc < last;
            values.v[VALUE_RELTSC] = tsc < last ? last - tsc : tsc - last;
        }
        f->last_tsc[f->cpu] = tsc;
    }
    values.v[VALUE_CPU] = f->cpu;
    values.v[VALUE_TSC] = tsc;
    values.v[VALUE_EVENT] = event;
    if (f->mhz) {
        values.seconds = (double)tsc / ((double)f->mhz * 1000000.0);
        if (f->mhz > 0)
            values.v[VALUE_TSC] = (uint64_t)values.seconds;
    }

    rule = rule_of(f, event);
    if (likely(rule)) {
        r = xentrace_rule_put(rule, &values, &f->out, &f->error);
        if (unlikely(r < 0))
            return r;
    }
    return 1;
}

/* Handles the complete records in the buffer. As put_record(). */
static int put_records(struct formatter *f, struct input *in)
{
    const uint8_t *p = input_at(in);
    const uint8_t *start = p;
    const uint8_t *end = p + input_buffered(in);
    int r = 1;

    if (!f->cpu_known && end - p >= 4)
        f->big_endian = xentrace_load(p, true) == XENTRACE_WINDOW_HEADER;
    while (r > 0 && end - p >= 4 && !interrupted) {
        uint32_t header = xentrace_load(p, f->big_endian);
        uint32_t size = xentrace_record_size(header);

        if (size > (size_t)(end - p))
            break;
        r = put_record(f, header, p);
        p += size;
    }
    input_skip(in, (size_t)(p - start));
    return interrupted ? 0 : r;
}

/* A record that is cut by the input's end is left out silently, as in the original. */
static int format_all(struct formatter *f, struct input *in)
{
    for (;;) {
        size_t before = input_buffered(in);
        int r = input_refill(in, &f->error);

        if (r <= 0 || input_buffered(in) == before)
            return r;
        r = put_records(f, in);
        if (r <= 0)
            return r;
        if (f->out.error)
            return 0; /* the caller prints the error */
        /* The reader of a pipe sees what has come so far. */
        if (!in->seekable)
            text_flush(&f->out);
    }
}

static void report_unopened(const char *path, int error)
{
    /* The original prints the exception, to standard output. */
    printf("[Errno %d] %s: '%s'\n", -error, strerror(-error), path);
    cli_error("%s: cannot open it: %s", path, strerror(-error));
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static int run(struct formatter *f, const char *path)
{
    struct input in;
    int r;

    if (access(path, R_OK) < 0) {
        report_unopened(path, -errno);
        return EXIT_FAILURE;
    }
    r = xen_formats_read(&f->formats, path, &f->error);
    if (r >= 0)
        r = compile_rules(f);
    if (r >= 0)
        r = output_open(&f->out, OUTPUT_RAW, OUTPUT_SIZE);
    if (r >= 0)
        r = input_open(&in, "-", INPUT_BUFFER_SIZE, &f->error);
    if (r < 0) {
        error_set(&f->error, r, "", "out of memory");
        cli_print_error(&f->error);
        return EXIT_FAILURE;
    }

    catch_signals();
    r = format_all(f, &in);
    input_done(&in);
    if (text_flush(&f->out) < 0) {
        if (f->out.error != -EPIPE)
            cli_error("cannot write: %s", strerror(-f->out.error));
        return EXIT_FAILURE;
    }
    if (r < 0) {
        cli_print_error(&f->error);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* Parses an integer as Python's int() does. */
static bool parse_mhz(const char *s, int64_t *ret)
{
    bool negative;
    int64_t v = 0;
    const char *digits;

    while (*s == ' ' || (*s >= '\t' && *s <= '\r'))
        s++;
    negative = *s == '-';
    s += *s == '-' || *s == '+';
    for (digits = s; (*s >= '0' && *s <= '9') || (*s == '_' && s > digits && s[-1] != '_'); s++) {
        if (*s == '_')
            continue;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
            return false;
    }
    if (s == digits || s[-1] == '_')
        return false;
    while (*s == ' ' || (*s >= '\t' && *s <= '\r'))
        s++;
    *ret = negative ? -v : v;
    return *s == 0;
}

static int usage(void)
{
    fputs(help, stderr);
    return EXIT_FAILURE; /* as the original, not EXIT_USAGE */
}

int cmd_xentrace_format(int argc, char **argv)
{
    struct formatter *f;
    const char *mhz = NULL;
    int64_t rate = 0;
    int at = 1;
    int status;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return EXIT_SUCCESS;
    }
    for (; at < argc && argv[at][0] == '-' && argv[at][1] != 0; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (argv[at][1] != 'c')
            return usage();
        if (argv[at][2])
            mhz = argv[at] + 2;
        else if (++at < argc)
            mhz = argv[at];
        else
            return usage();
        if (!parse_mhz(mhz, &rate)) {
            cli_error("invalid value '%s' for -c: give the rate of the time stamp counter in MHz",
                      mhz);
            return EXIT_FAILURE;
        }
    }
    if (at >= argc)
        return usage();

    f = calloc(1, sizeof *f);
    if (!f) {
        cli_error("out of memory");
        return EXIT_FAILURE;
    }
    f->mhz = rate;
    f->out = TEXT_IN_MEMORY;
    status = run(f, argv[at]);
    formatter_done(f);
    free(f);
    return status;
}
