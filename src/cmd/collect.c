/* SPDX-License-Identifier: MIT */
/* strata collect: takes what the kernels of guests trace. */

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "cli/duration.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/collect.h"
#include "cmd/collect_live.h"
#include "record/agent/guests.h"
#include "tracedir/registry.h"

#define SECOND UINT64_C(1000000000)
#define KEY_MAX 4096
#define KEY_MIN 16
#define GUESTS_MAX 1024

struct collect_options {
    const char *output;
    struct strings ports, fifos, tcps, vsocks, olds;
    struct strings kvms;
    const char *key, *kvm_files;
    struct strings events, filters;
    const char *clock;
    uint64_t buffer, queue, keep, level, max_size, time, cpus; /* time in ns */
    const char *tracefs;
    unsigned format; /* enum collect_format */
    bool kallsyms, strict, live, print_qemu, print_libvirt;
    bool spreadsheet;
};

#define MEMBER(m) offsetof(struct collect_options, m)

static const struct option where_table[] = {
    {OPTION_STRINGS, 0, "port", "[NAME=]PATH", "UNIX socket of the guest's virtio-serial port",
     MEMBER(ports)},
    {OPTION_STRINGS, 0, "fifo", "[NAME=]PATH", "FIFOs PATH.in and PATH.out of the port",
     MEMBER(fifos)},
    {OPTION_STRINGS, 0, "tcp", "[NAME=]HOST:PORT", "TCP address of the agent; requires --key",
     MEMBER(tcps)},
    {OPTION_STRINGS, 0, "vsock", "[NAME=]CID:PORT", "vsock address of the agent; requires --key",
     MEMBER(vsocks)},
    {OPTION_STRINGS, 0, "virtio-trace", "[NAME=]DIR",
     "FIFOs or sockets of an agent that uses the\nvirtio-trace protocol", MEMBER(olds)},
    {OPTION_NUMBER, 0, "cpus", "N", "virtio-trace: number of CPUs to create FIFOs for",
     MEMBER(cpus)},
    {OPTION_STRING, 0, "tracefs-copy", "DIR", "virtio-trace: a copy of the guest's tracefs",
     MEMBER(tracefs)},
    {OPTION_STRINGS, 0, "kvm", "[NAME=]PID", "process ID of the guest's QEMU, for its clock in KVM",
     MEMBER(kvms)},
    {OPTION_STRING, 0, "kvm-files", "DIR", "KVM's directory (" GUEST_KVM_ROOT ")",
     MEMBER(kvm_files)},
    {OPTION_STRING, 0, "key", "FILE", "file with the key that the agents know", MEMBER(key)},
    {OPTION_END},
};

static const struct option what_table[] = {
    {OPTION_LIST, 'e', "event", "GLOB", "events to trace: sched:sched_*,irq:*", MEMBER(events)},
    {OPTION_STRINGS, 0, "filter", "GLOB=FILTER", "events to trace if FILTER holds",
     MEMBER(filters)},
    {OPTION_STRING, 0, "clock", "NAME", "trace clock: x86-tsc, mono, ... (best of the guest)",
     MEMBER(clock)},
    {OPTION_PARSED, 0, "buffer-size", "SIZE", "kernel buffer for each CPU (4M)", MEMBER(buffer),
     NULL, size_parse},
    {OPTION_PARSED, 0, "queue-size", "SIZE", "agent's queue for each CPU (4M)", MEMBER(queue), NULL,
     size_parse},
    {OPTION_NUMBER, 0, "compress", "LEVEL", "compress by zstd, 1 to 19 (0: off)", MEMBER(level)},
    {OPTION_FLAG, 0, "kallsyms", NULL, "also collect the names of kernel functions",
     MEMBER(kallsyms)},
    {OPTION_NUMBER, 0, "reconnect-timeout", "SECONDS",
     "time an agent without a connection keeps tracing (60)", MEMBER(keep)},
    {OPTION_END},
};

static const char *const formats[] = {"text", "json", "csv", NULL};

static const struct option how_table[] = {
    {OPTION_STRING, 'o', "output", "DIR", "new directory for the trace", MEMBER(output)},
    {OPTION_FLAG, 'l', "live", NULL, "print the events as they come", MEMBER(live)},
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format of --live (text)",
     MEMBER(format), .choices = formats},
    {OPTION_FLAG, 0, "spreadsheet", NULL,
     "of --live -f csv: put ' before a text that begins with\n"
     "= + - @, which a spreadsheet would run as a formula",
     MEMBER(spreadsheet)},
    {OPTION_PARSED, 't', "time", "SECONDS", "stop after SECONDS (0.5 is half a second)",
     MEMBER(time), NULL, duration_parse},
    {OPTION_PARSED, 0, "max-size", "SIZE", "stop recording a guest at SIZE (16G)", MEMBER(max_size),
     NULL, size_parse},
    {OPTION_FLAG, 0, "strict", NULL, "exit with 3 if events were lost", MEMBER(strict)},
    {OPTION_FLAG, 0, "print-qemu", NULL, "print the options for QEMU and exit", MEMBER(print_qemu)},
    {OPTION_FLAG, 0, "print-libvirt", NULL, "print the XML for libvirt and exit",
     MEMBER(print_libvirt)},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Guests, any number", where_table, 0},
    {"What to trace", what_table, 0},
    {"Options", how_table, 0},
    {NULL},
};

const struct command collect_command = {
    .name = "collect",
    .summary = "record the kernels of guests",
    .operands = "",
    .about = "Records events of guest kernels into DIR until SIGINT or SIGTERM. strata-agent\n"
             "must run in each guest. A lost connection is made again. --live prints events as\n"
             "they come; DIR is then optional.",
    .groups = groups,
    .examples = "  strata collect --print-qemu --port=/run/vm/web.agent\n"
                "  strata collect -o trace -e 'sched:*' -t 10 --port=web=/run/vm/web.agent",
};

static volatile sig_atomic_t signals;

static void on_signal(int signal)
{
    (void)signal;
    signals++;
}

/* "NAME=PATH", or a name of its own. */
static const char *split_name(const char *text, unsigned n, char *name, size_t size)
{
    const char *equals = strchr(text, '=');

    if (equals && equals > text && (size_t)(equals - text) < size) {
        memcpy(name, text, (size_t)(equals - text));
        name[equals - text] = '\0';
        if (guest_name_is_fine(name))
            return equals + 1;
    }
    snprintf(name, size, n ? "%u" : "guest", n + 1);
    if (n)
        snprintf(name, size, "guest%u", n + 1);
    return text;
}

struct plans {
    struct guest_config items[GUESTS_MAX];
    char names[GUESTS_MAX][72];
    unsigned n;
};

static int add_plans(struct plans *plans, const struct strings *strings,
                     enum guest_endpoint_kind kind)
{
    for (unsigned i = 0; i < strings->n; i++) {
        struct guest_config *plan = &plans->items[plans->n];
        struct error error = {0};
        const char *where;

        if (plans->n == GUESTS_MAX)
            return cli_usage_error("collect", "more than %u guests", GUESTS_MAX);
        where =
            split_name(strings->items[i], plans->n, plans->names[plans->n], sizeof plans->names[0]);
        plan->name = plans->names[plans->n];
        for (unsigned j = 0; j < plans->n; j++)
            if (strcmp(plans->names[j], plan->name) == 0)
                return cli_usage_error("collect",
                                       "two guests are called %s; give them names: NAME=%s",
                                       plan->name, where);
        if (kind != ENDPOINT_VIRTIO_TRACE &&
            guest_endpoint_parse(kind, where, &plan->place, &error) < 0) {
            cli_print_error(&error);
            return EXIT_FAILURE;
        }
        plan->place.text = where;
        plans->n++;
    }
    return EXIT_SUCCESS;
}

static int make_plans(const struct collect_options *options, struct plans *plans)
{
    int status = add_plans(plans, &options->ports, ENDPOINT_PORT);
    unsigned first = plans->n;

    if (status == EXIT_SUCCESS)
        status = add_plans(plans, &options->fifos, ENDPOINT_PORT);
    for (; status == EXIT_SUCCESS && first < plans->n; first++) {
        struct error error = {0};

        if (guest_endpoint_make_fifos(plans->items[first].place.text, &error) < 0) {
            cli_print_error(&error);
            return EXIT_FAILURE;
        }
    }
    if (status == EXIT_SUCCESS)
        status = add_plans(plans, &options->tcps, ENDPOINT_TCP);
    if (status == EXIT_SUCCESS)
        status = add_plans(plans, &options->vsocks, ENDPOINT_VSOCK);
    first = plans->n;
    if (status == EXIT_SUCCESS)
        status = add_plans(plans, &options->olds, ENDPOINT_VIRTIO_TRACE);
    for (; first < plans->n; first++) {
        plans->items[first].old = plans->items[first].place.text;
        plans->items[first].tree = options->tracefs;
        plans->items[first].cpus = (unsigned)options->cpus;
    }
    return status;
}

/* --kvm: of the guest of that name, or of the first one. */
static int set_vmms(const struct collect_options *options, struct plans *plans)
{
    for (unsigned i = 0; i < plans->n; i++)
        plans->items[i].kvm_root = options->kvm_files;
    for (unsigned i = 0; i < options->kvms.n; i++) {
        const char *text = options->kvms.items[i];
        const char *equals = strchr(text, '=');
        size_t len = equals ? (size_t)(equals - text) : 0;
        struct guest_config *plan = equals ? NULL : &plans->items[0];
        char *end;
        long pid = strtol(equals ? equals + 1 : text, &end, 10);

        for (unsigned j = 0; equals && j < plans->n; j++)
            if (strlen(plans->names[j]) == len && memcmp(plans->names[j], text, len) == 0)
                plan = &plans->items[j];
        if (!plan)
            return cli_usage_error("collect", "--kvm=%s: there is no guest of that name", text);
        if (*end || pid <= 0 || pid > INT32_MAX)
            return cli_usage_error("collect", "--kvm=%s: invalid process ID", text);
        plan->vmm = (pid_t)pid;
    }
    return EXIT_SUCCESS;
}

/* Spaces around a key are not part of it. -errno with ERROR. */
static int read_key(const char *path, char *key, size_t *ret_size, struct error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return error_set(error, -errno, path, "cannot open it: %s", strerror(errno));
    if (fstat(fd, &st) == 0 && (st.st_mode & 077) != 0 && S_ISREG(st.st_mode)) {
        close(fd);
        return error_set(error, -EACCES, path, "others can read this key: chmod 600");
    }
    n = read(fd, key, KEY_MAX);
    close(fd);
    if (n < 0)
        return error_set(error, -errno, path, "cannot read it: %s", strerror(errno));
    if (n == KEY_MAX)
        return error_set(error, -EFBIG, path, "is too long for a key");
    while (n > 0 && (key[n - 1] == '\n' || key[n - 1] == '\r' || key[n - 1] == ' '))
        n--;
    if (n < KEY_MIN)
        return error_set(error, -EINVAL, path, "a key has %d bytes or more", KEY_MIN);
    *ret_size = (size_t)n;
    return 0;
}

/* The events and filters that are asked for; the strings of the latter are cut in two. */
static int make_events(const struct collect_options *options, struct guest_event **ret,
                       uint32_t *ret_n)
{
    uint32_t n = options->events.n + options->filters.n;
    struct guest_event *events = calloc(MAX(n, 1u), sizeof *events);

    if (!events)
        return -ENOMEM;
    for (unsigned i = 0; i < options->events.n; i++)
        events[i] = (struct guest_event){options->events.items[i], ""};
    for (unsigned i = 0; i < options->filters.n; i++) {
        char *equals = strchr(options->filters.items[i], '=');
        struct guest_event *event = &events[options->events.n + i];

        if (!equals || equals[1] == '\0') {
            free(events);
            return -EINVAL;
        }
        event->event = options->filters.items[i];
        event->filter = equals + 1;
        *equals = '\0';
    }
    *ret = events;
    *ret_n = n;
    return 0;
}

static void tell(const char *guest, const char *what)
{
    progress_line_erase();
    cli_message("%s: %s", guest, what);
}

static void show_progress(struct guests *guests, double seconds)
{
    char line[512];
    size_t len = 0;

    line[0] = '\0';
    for (unsigned i = 0; i < guests->n && len < sizeof line - 80; i++) {
        struct guest *guest = &guests->guests[i];
        const struct guest_progress *progress = &guest->progress;
        uint64_t rate = (uint64_t)((double)(progress->bytes - guest->bytes_shown) / seconds);
        char a[16], b[16];
        int n = snprintf(line + len, sizeof line - len, "%s%s: %s, %s/s", i ? "  " : "",
                         guest->plan.name, bytes_text(a, sizeof a, progress->bytes),
                         bytes_text(b, sizeof b, rate));

        guest->bytes_shown = progress->bytes;
        len += (size_t)n;
        if (progress->lost && len < sizeof line)
            len += (size_t)snprintf(line + len, sizeof line - len, ", %" PRIu64 " lost",
                                    progress->lost);
        if (progress->gaps && len < sizeof line)
            len += (size_t)snprintf(line + len, sizeof line - len, ", %" PRIu64 " pages missing",
                                    progress->gaps);
    }
    progress_line(line);
}

/* Until all have ended. The signals are let through only while it sleeps. */
static int collect(struct guests *guests, const struct collect_options *options, bool shows,
                   struct collect_live *live, enum collect_live_end *ret_end, struct error *error)
{
    uint64_t until = options->time ? clock_ns(CLOCK_MONOTONIC) + options->time : UINT64_MAX;
    uint64_t shown = clock_ns(CLOCK_MONOTONIC);
    bool given_up = false;
    sigset_t blocked, before;
    int r = 1;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    while (r > 0 && !given_up) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC);

        if (*ret_end == LIVE_GOES_ON)
            *ret_end = collect_live_look(live);
        /* Without a directory there is nothing to go on for. */
        if (signals > 0 || now >= until || *ret_end == LIVE_IS_UNREAD ||
            (*ret_end != LIVE_GOES_ON && options->live && !options->output))
            guests_stop(guests);
        given_up = signals > 1;
        if (shows && now - shown >= SECOND) {
            show_progress(guests, (double)(now - shown) / (double)SECOND);
            shown = now;
        }
        r = guests_step(guests, MIN(SECOND / 4, until > now ? until - now : SECOND / 4), &before,
                        error);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    progress_line_erase();
    return r;
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* What is told at the end goes where events do not. */
static FILE *summary_file(const struct collect_options *options)
{
    return options->live ? stderr : stdout;
}

/* One guest's end. Returns the exit status. */
static int sum_up(const struct guest *guest, const struct collect_options *options)
{
    const struct guest_progress *progress = &guest->progress;
    const struct guest_boot *part = &guest->parts[guest->n_parts - 1];
    FILE *out = summary_file(options);
    _cleanup_(text_done) struct text line = TEXT_IN_MEMORY;
    char size[16];

    bytes_text(size, sizeof size, progress->bytes);
    text_printf(&line, "%s: %s of %" PRIu32 " CPU%s", guest->plan.name, size, progress->n_cpus,
                plural(progress->n_cpus));
    /* An old agent counts nothing, and another one had no time to tell it where the disk was full at once. */
    if (!guest->plan.old && (progress->events || progress->bytes == 0))
        text_printf(&line, ", %" PRIu64 " event%s", progress->events, plural(progress->events));
    if (options->output)
        text_printf(&line, "%s written to %s/guest-%s", guest->plan.old ? "," : "", options->output,
                    guest->plan.name);
    output_line(out, "%.*s", (int)text_len(&line), line.start);
    if (part->n_pairs)
        output_line(out,
                    "  its clock %s is related to the host's by %u %s%s%s, the best within %.*f us",
                    part->clock, part->n_pairs, part->by_kvm ? "reading" : "exchange",
                    plural(part->n_pairs), part->by_kvm ? " of what KVM tells" : "",
                    part->best.error_ns < 10000, (double)part->best.error_ns / 1000);
    if (progress->waited_ns && progress->stopped_ns)
        output_line(
            out,
            "  its first page came %.1f ms after it was started, its last %.0f ms after it was "
            "stopped",
            (double)progress->waited_ns / 1e6, (double)progress->stopped_ns / 1e6);
    if (progress->unshown) {
        bytes_text(size, sizeof size, progress->unshown);
        cli_message("  %s were not shown: the output was read too slowly%s", size,
                    options->output ? "; the directory has them" : "");
    }
    if (progress->lost)
        cli_message("  %" PRIu64 " events were lost in the guest: its buffers were full",
                    progress->lost);
    if (progress->unwritten && !progress->full)
        cli_message("  %" PRIu64 " events that came could not be written", progress->unwritten);
    if (progress->full)
        cli_message("  it was stopped by --max-size: %" PRIu64
                    " pages that had come, and all later events, are not in the trace",
                    progress->gaps);
    else if (progress->gaps)
        cli_message("  %" PRIu64 " pages were lost on the way", progress->gaps);
    if (guest->error < 0) {
        cli_message("strata: %s: %s", guest->plan.name, guest->what);
        return EXIT_FAILURE;
    }
    return options->strict && (guest_lost(guest) || progress->gaps || progress->full ||
                               (progress->unshown && !options->output))
               ? EXIT_LOSSES
               : EXIT_SUCCESS;
}

/* The process that shows events, which the plans get their ends of. */
static int start_live(const struct collect_options *options, struct plans *plans,
                      struct collect_live *live, int *ends)
{
    const char *names[GUESTS_MAX];
    const struct collect_live_options how = {
        .format = (enum collect_format)options->format,
        .spreadsheet = options->spreadsheet,
    };
    struct error error = {0};

    for (unsigned i = 0; i < plans->n; i++)
        names[i] = plans->items[i].name;
    if (collect_live_start(names, plans->n, &how, live, ends, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < plans->n; i++) {
        plans->items[i].live = &ends[i];
        if (plans->n > 1)
            cli_message("#%u is %s", i, names[i]);
    }
    return EXIT_SUCCESS;
}

/* What came is shown to its end, unless the user has enough of it. */
static enum collect_live_end wait_for_live(struct collect_live *live)
{
    sig_atomic_t before = signals;
    enum collect_live_end end;

    while ((end = collect_live_look(live)) == LIVE_GOES_ON) {
        struct timespec time = {.tv_nsec = 10000000};

        if (before > 1 || signals != before) {
            collect_live_kill(live);
            return LIVE_IS_DONE;
        }
        nanosleep(&time, NULL);
    }
    return end;
}

static int run(const struct collect_options *options, const struct trace_config *wishes,
               struct plans *plans)
{
    struct collect_live live = {0};
    enum collect_live_end live_end = LIVE_GOES_ON;
    int ends[GUESTS_MAX];
    struct registry_entry registry_entry = REGISTRY_NONE;
    struct error error = {0};
    struct guests guests;
    int status = EXIT_SUCCESS;
    int r;

    if (options->live && start_live(options, plans, &live, ends) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    r = guests_open(options->output, wishes, options->max_size, plans->items, plans->n, &guests,
                    &error);
    if (r < 0) {
        collect_live_kill(&live);
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    guests.tell = tell;
    /* For others to know of, and no more. */
    if (options->output)
        (void)registry_add(getenv("XDG_RUNTIME_DIR"), options->output, &registry_entry, NULL);
    if (!options->live)
        live_end = LIVE_IS_DONE;
    r = collect(&guests, options,
                isatty(STDERR_FILENO) && !(options->live && isatty(STDOUT_FILENO)), &live,
                &live_end, &error);
    guests_end(&guests);
    if (live_end == LIVE_GOES_ON)
        live_end = wait_for_live(&live);
    for (unsigned i = 0; i < guests.n && live_end != LIVE_IS_UNREAD; i++) {
        int one = sum_up(&guests.guests[i], options);

        if (status != EXIT_FAILURE && one != EXIT_SUCCESS)
            status = one;
    }
    registry_remove(&registry_entry);
    if (guests_close(&guests, &error) < 0 || r < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    if (live_end == LIVE_IS_UNREAD)
        return cli_output_error(-EPIPE);
    return live_end == LIVE_FAILED ? EXIT_FAILURE : status;
}

/* Of one guest, which may have the ports of both protocols. */
static int print_lines(const struct collect_options *options)
{
    const struct strings *ports = options->fifos.n ? &options->fifos : &options->ports;
    char name[72];
    const char *port = NULL, *old = NULL;

    if (options->ports.n + options->fifos.n > 1 || options->olds.n > 1)
        return cli_usage_error("collect",
                               "the options are for one guest; give one --port=PATH "
                               "or --fifo=PATH, and one --virtio-trace=DIR if it has both");
    if (ports->n + options->olds.n == 0)
        return cli_usage_error("collect", "no port given; give --port=PATH, --fifo=PATH, or "
                                          "--virtio-trace=DIR and --cpus=N");
    if (options->olds.n && (options->cpus == 0 || options->cpus > PROTO_CPUS_MAX))
        return cli_usage_error("collect", "--cpus=N is required");
    if (ports->n)
        port = split_name(ports->items[0], 0, name, sizeof name);
    if (options->olds.n)
        old = split_name(options->olds.items[0], 0, name, sizeof name);
    if (options->print_qemu)
        collect_print_qemu(port, ports == &options->fifos, old, (unsigned)options->cpus);
    if (options->print_libvirt)
        collect_print_libvirt(port, ports == &options->fifos, old, (unsigned)options->cpus);
    return EXIT_SUCCESS;
}

static int check(const struct collect_options *options, int n)
{
    unsigned guests = options->ports.n + options->fifos.n + options->tcps.n + options->vsocks.n;

    if (n > 0)
        return cli_usage_error("collect", "unexpected argument; guests are given by options");
    if (guests + options->olds.n == 0)
        return cli_usage_error(
            "collect", "no guest given; use --port, --fifo, --tcp, --vsock or --virtio-trace");
    if (!options->output && !options->live)
        return cli_usage_error("collect", "--output=DIR or --live is required");
    if (options->format && !options->live)
        return cli_usage_error("collect", "--format requires --live");
    if (options->spreadsheet && (!options->live || options->format != COLLECT_CSV))
        return cli_usage_error("collect", "--spreadsheet requires --live --format=csv");
    if (options->cpus > PROTO_CPUS_MAX)
        return cli_usage_error("collect", "--cpus is at most %u", PROTO_CPUS_MAX);
    if (guests > 0 && options->events.n + options->filters.n == 0)
        return cli_usage_error("collect", "no events given; use --event=GLOB, as in -e 'sched:*'");
    if ((options->tcps.n || options->vsocks.n) && !options->key)
        return cli_usage_error("collect", "--tcp and --vsock require --key=FILE");
    if (options->level > 19)
        return cli_usage_error("collect", "--compress is 0 to 19");
    if (options->keep > UINT32_MAX || options->buffer >> 10 > UINT32_MAX ||
        options->queue >> 10 > UINT32_MAX)
        return cli_usage_error(
            "collect", "value too large: --reconnect-timeout, --buffer-size or --queue-size");
    return EXIT_SUCCESS;
}

int cmd_collect(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct collect_options options = {.keep = 60, .buffer = 4 << 20};
    struct trace_config wishes = {0};
    struct guest_event *events = NULL;
    static struct plans plans;
    struct error error = {0};
    char key[KEY_MAX];
    int status = EXIT_FAILURE;
    int n;

    if (!options_parse(&collect_command, argc, argv, &options, &n, &status))
        goto end;
    if (options.print_qemu || options.print_libvirt) {
        status = print_lines(&options);
        goto end;
    }
    status = check(&options, n);
    if (status == EXIT_SUCCESS)
        status = make_plans(&options, &plans);
    if (status == EXIT_SUCCESS)
        status = set_vmms(&options, &plans);
    if (status != EXIT_SUCCESS)
        goto end;
    if (options.key && read_key(options.key, key, &wishes.key_size, &error) < 0) {
        cli_print_error(&error);
        status = EXIT_FAILURE;
        goto end;
    }
    n = make_events(&options, &events, &wishes.n_events);
    if (n < 0) {
        status =
            n == -EINVAL
                ? cli_usage_error("collect", "--filter requires GLOB=FILTER, as in 'irq:*=irq > 8'")
                : EXIT_FAILURE;
        goto end;
    }
    if (options.max_size == 0 && options.output)
        options.max_size = UINT64_C(16) << 30;
    wishes.events = events;
    wishes.key = options.key ? key : NULL;
    wishes.must_prove = options.key != NULL;
    wishes.clock = options.clock ? options.clock : "";
    wishes.buffer_kib = (uint32_t)(options.buffer >> 10);
    wishes.queue_kib = (uint32_t)(options.queue >> 10);
    wishes.keep_seconds = (uint32_t)options.keep;
    wishes.level = (uint8_t)options.level;
    wishes.wants = PROTO_WANT_CMDLINES | PROTO_WANT_PRINTK_FORMATS;
    if (options.live)
        wishes.wants |= PROTO_WANT_LIVE;
    if (options.kallsyms)
        wishes.wants |= PROTO_WANT_KALLSYMS;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    cmd_raise_files(); /* a file for each CPU of each guest */
    status = run(&options, &wishes, &plans);
end:
    free(events);
    strings_done(&options.ports);
    strings_done(&options.fifos);
    strings_done(&options.tcps);
    strings_done(&options.vsocks);
    strings_done(&options.olds);
    strings_done(&options.kvms);
    strings_done(&options.events);
    strings_done(&options.filters);
    return status;
}
