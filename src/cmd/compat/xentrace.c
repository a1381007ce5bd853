/* SPDX-License-Identifier: MIT */
/* xentrace [OPTION...] [FILE]: Xen's recorder, with its options, its stream and its exit statuses. Without FILE it
 * writes to standard output, as since Xen 4.18. Unlike Xen's program: -t does what is documented, -e accepts all
 * classes and single events, a running recording is not disturbed, and the previous event mask is restored. */

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "event/clock.h"
#include "record/percpu/recorder.h"
#include "record/recording.h"
#include "record/xen/buffers.h"

static const char help[] =
    "Usage: xentrace [OPTION...] [FILE]\n"
    "\n"
    "Writes the records of Xen's trace buffers to FILE, or to standard output, until the time is "
    "up\n"
    "or SIGINT, SIGTERM or SIGHUP comes.\n"
    "\n"
    "  -c, --cpu-mask=LIST           of these CPUs: 0-3,5,7- or all, or a mask like 0xf0\n"
    "  -e, --evt-mask=EVENTS         these events: all gen sched dom0op hvm mem pv shadow hw "
    "guest,\n"
    "                                a mask like 0x8f000, or as in 'strata record --event'; "
    "repeat\n"
    "                                for more events; a mask replaces all before it\n"
    "  -s, --poll-sleep=MS           interval between reads of the buffers (100)\n"
    "  -t, --log-thresh=N            write a CPU's records when there are N of them, or its buffer "
    "is\n"
    "                                half full\n"
    "  -S, --trace-buf-size=PAGES    of each CPU's buffer (32); no effect if the buffers "
    "exist;\n"
    "                                Xen allocates them once per boot\n"
    "  -T, --time-interval=SECONDS   stop after SECONDS\n"
    "  -M, --memory-buffer=SIZE      keep the last SIZE bytes (with k, K, M) in memory, and write\n"
    "                                them at the end\n"
    "  -r, --reserve-disk-space=MB   stop when less would be free on the disk\n"
    "  -D, --discard-buffers         discard the records that the buffers already hold\n"
    "  -x, --dont-disable-tracing    leave tracing on at the end, and the masks as set\n"
    "  -X, --start-disabled          do not switch tracing on\n"
    "  -V, --version                 print the version\n"
    "  -?, --help                    print this\n"
    "      --usage                   print a short form of it\n"
    "\n"
    "'strata record --xen' writes with the records all that is needed to decode them.\n";

static const char short_usage[] =
    "Usage: xentrace [-DxXV?] [-c LIST] [-e EVENTS] [-s MS] [-t N] [-S PAGES] [-T SECONDS]\n"
    "                [-M SIZE] [-r MB] [FILE]\n";

/* Between two checks for a FIFO's reader. */
#define FIFO_PAUSE_NS UINT64_C(20000000)

enum { OPTION_USAGE = 256 };

struct settings {
    struct buffers_recorder_settings recorder;
    struct stop_signals signals;
    uint64_t time; /* in ns; 0: unlimited */
    struct xen_event_mask choice;
    struct xen_table table;
    const char *cpus;
    struct cpu_set cpu_set; /* from `cpus` */
    const char *file;
    uint64_t reserve;
};

static int wrong(const char *option, const char *value)
{
    cli_error("xentrace: invalid value '%s' for %s; see 'xentrace --help'", value, option);
    return -EINVAL;
}

/* Parses a number in any base of C, up to MAX, with an optional unit if UNITS. */
static int number(const char *option, const char *value, bool units, uint64_t max, uint64_t *ret)
{
    char *end;
    unsigned long long v;

    errno = 0;
    v = strtoull(value, &end, 0);
    if (errno || end == value || *value == '-')
        return wrong(option, value);
    if (units && (*end == 'k' || *end == 'K' || *end == 'M')) {
        if (__builtin_mul_overflow(v, *end == 'M' ? 1048576ull : 1024ull, &v))
            return wrong(option, value);
        end++;
    }
    if (*end || v > max)
        return wrong(option, value);
    *ret = v;
    return 0;
}

/* A mask replaces earlier choices; 0 chooses nothing, and Xen's mask stays. */
static int events(struct settings *s, const char *value)
{
    struct error error = {0};
    char *end;
    unsigned long long mask;
    int r;

    errno = 0;
    mask = strtoull(value, &end, 0);
    if (*value >= '0' && *value <= '9' && !*end) {
        if (errno || mask > UINT32_MAX)
            return wrong("-e", value);
        xen_event_mask_done(&s->choice);
        r = xen_event_mask_init(&s->choice);
        if (r >= 0 && mask)
            r = xen_event_mask_add_mask(&s->choice, (uint32_t)mask, &error);
    } else {
        r = xen_event_mask_add(&s->choice, &s->table, value, &error);
    }
    if (r < 0) {
        error_set(&error, r, "", "out of memory");
        cli_print_error(&error);
    }
    return r;
}

/* Handles an option. 1 to continue; 0 if the work is done; negative if it is invalid, with the error printed. */
static int option(struct settings *s, int letter, const char *value)
{
    uint64_t v = 0;
    int r = 1;

    switch (letter) {
    case 'c': s->cpus = value; break;
    case 'e': r = events(s, value); break;
    case 's':
        r = number("-s", value, false, 3600000, &v);
        s->recorder.look_ns = MAX(v, 1u) * 1000000;
        break;
    case 't': r = number("-t", value, false, UINT32_MAX, &s->recorder.drain.threshold); break;
    case 'S':
        r = number("-S", value, false, UINT16_MAX, &v);
        s->recorder.buffers.pages = (unsigned)v;
        break;
    case 'T':
        r = number("-T", value, false, UINT32_MAX, &v);
        s->time = v * NANOSECONDS;
        break;
    case 'M':
        r = number("-M", value, true, SIZE_MAX / 2, &v);
        s->recorder.drain.memory = (size_t)v;
        break;
    case 'r':
        r = number("-r", value, false, UINT32_MAX, &v);
        s->reserve = v << 20;
        break;
    case 'D': s->recorder.buffers.discard = true; break;
    case 'x': s->recorder.leave_on = true; break;
    case 'X': s->recorder.buffers.start_disabled = true; break;
    case 'V': puts("xentrace (strata " STRATA_VERSION ")"); return 0;
    case 'h': fputs(help, stdout); return 0;
    case OPTION_USAGE: fputs(short_usage, stdout); return 0;
    default: fputs(short_usage, stderr); return -EINVAL;
    }
    return r < 0 ? r : 1;
}

static int parse(struct settings *s, int argc, char **argv)
{
    static const struct option longs[] = {
        {"cpu-mask", required_argument, NULL, 'c'},
        {"evt-mask", required_argument, NULL, 'e'},
        {"poll-sleep", required_argument, NULL, 's'},
        {"log-thresh", required_argument, NULL, 't'},
        {"trace-buf-size", required_argument, NULL, 'S'},
        {"time-interval", required_argument, NULL, 'T'},
        {"memory-buffer", required_argument, NULL, 'M'},
        {"reserve-disk-space", required_argument, NULL, 'r'},
        {"discard-buffers", no_argument, NULL, 'D'},
        {"dont-disable-tracing", no_argument, NULL, 'x'},
        {"start-disabled", no_argument, NULL, 'X'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {"usage", no_argument, NULL, OPTION_USAGE},
        {NULL, 0, NULL, 0},
    };
    int letter;

    optind = 1;
    while ((letter = getopt_long(argc, argv, "c:e:s:t:S:T:M:r:DxXV?", longs, NULL)) != -1) {
        int r;

        /* "-?" is asked for, and is also what getopt says of an option that it does not know. */
        if (letter == '?' && optopt == 0 && strcmp(argv[optind - 1], "-?") == 0)
            letter = 'h';
        r = option(s, letter, optarg);
        if (r <= 0)
            return r;
    }
    if (argc - optind > 1) {
        cli_error("xentrace: one file at a time, not '%s' as well", argv[optind + 1]);
        return -EINVAL;
    }
    s->file = argv[optind];
    return 1;
}

/* Opens FILE for writing. A signal ends the wait for a FIFO's reader. open() would also wait, but would miss a signal
 * just before it. -EINTR for a signal; another negative errno. */
static int open_file(struct settings *s)
{
    struct stat st;
    int fd, r;

    while ((fd = open(s->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644)) < 0) {
        r = -errno;
        if (r != -ENXIO || stat(s->file, &st) < 0 || !S_ISFIFO(st.st_mode))
            return r;
        if (stop_signals_sleep(&s->signals, FIFO_PAUSE_NS))
            return -EINTR;
    }
    r = fcntl(fd, F_GETFL);
    if (r < 0 || fcntl(fd, F_SETFL, r & ~O_NONBLOCK) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

/* Opens and truncates FILE. Call only after it is certain that no other recording runs. */
static int open_output(struct settings *s)
{
    int fd = STDOUT_FILENO;

    if (s->file) {
        fd = open_file(s);
        if (fd == -EINTR)
            cli_error("%s: no program opened it for reading", s->file);
        else if (fd < 0)
            cli_error("%s: cannot be written: %s", s->file, strerror(-fd));
        if (fd < 0)
            return fd;
    }
    s->recorder.fd = fd;
    s->recorder.path = s->file ? s->file : "standard output";
    return 0;
}

/* Writes only the records: a recording without a directory. */
static int run(struct settings *s, struct recorder *recorder)
{
    struct recording_settings settings = {
        .signals = &s->signals,
        .time = s->time,
        .min_free = s->reserve,
        .report = cmd_print_report,
    };
    struct recording *recording;
    struct error error = {0};
    int status = EXIT_SUCCESS;

    if (recording_new(&settings, &recording, &error) < 0) {
        cli_print_error(&error);
        recorder->ops->free(recorder);
        return EXIT_FAILURE;
    }
    if (recording_add(recording, recorder) < 0) {
        recorder->ops->free(recorder);
        status = cli_no_memory();
    } else if (recording_run(recording, &error) < 0) {
        cli_print_error(&error);
        status = EXIT_FAILURE;
    } else if (recorder->error.code < 0 || recording_is_full(recording)) {
        status = EXIT_FAILURE;
    }
    recording_free(recording);
    return status;
}

static int record(struct settings *s)
{
    struct trace_buffers *buffers = NULL;
    struct recorder *recorder;
    struct error error = {0};
    char text[400];
    int status;

    if (stop_signals_open(false, &s->signals) < 0) {
        cli_error("cannot catch signals: %s", strerror(errno));
        return EXIT_FAILURE;
    }
    if (xen_buffers_open(false, &buffers, &error) < 0 ||
        (s->cpus && cpu_set_parse(s->cpus, buffers->n_cpus, &s->cpu_set, &error) < 0)) {
        cli_print_error(&error);
        buffers_free(buffers);
        return EXIT_FAILURE;
    }
    if (open_output(s) < 0) {
        buffers_free(buffers);
        return EXIT_FAILURE;
    }
    if (s->choice.mask) {
        s->recorder.buffers.set_events = true;
        s->recorder.buffers.events = s->choice.mask;
        s->recorder.drain.choice = xen_event_mask_is_exact(&s->choice) ? NULL : &s->choice;
        cli_message("change evtmask to 0x%x", (unsigned)s->choice.mask);
    }
    s->recorder.buffers.keep_cpus = true; /* as the original does */
    if (s->cpus) {
        s->recorder.buffers.cpus = &s->cpu_set;
        cli_message("change cpumask to %s",
                    cpu_set_text(&s->cpu_set, buffers->n_cpus, text, sizeof text));
    }
    status = buffers_recorder_new(buffers, &s->recorder, &recorder) < 0 ? cli_no_memory()
                                                                        : run(s, recorder);
    if (s->file && close(s->recorder.fd) < 0 && status == EXIT_SUCCESS) {
        cli_error("%s: cannot be written: %s", s->file, strerror(errno));
        status = EXIT_FAILURE;
    }
    return status;
}

int cmd_xentrace(int argc, char **argv)
{
    struct settings s = {
        .recorder = {.name = "xen",
                     .look_ns = 100 * 1000000,
                     .more_room =
                         "Fewer events (-e), a shorter -s or, once after each boot, a larger -S "
                         "helps"},
        .signals.fd = -1,
    };
    struct error error = {0};
    int status = EXIT_FAILURE;
    int r = xen_event_mask_init(&s.choice);

    if (r >= 0)
        r = xen_table_built_in(&s.table, &error);
    if (r < 0) {
        cli_error("out of memory");
    } else {
        r = parse(&s, argc, argv);
        if (r == 0)
            status = EXIT_SUCCESS;
        else if (r > 0 && !s.file && isatty(STDOUT_FILENO))
            cli_error("xentrace: cannot write records to a terminal; name a file, or redirect "
                      "standard output");
        else if (r > 0)
            status = record(&s);
    }
    stop_signals_close(&s.signals);
    xen_table_done(&s.table);
    xen_event_mask_done(&s.choice);
    return status;
}
