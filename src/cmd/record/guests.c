/* SPDX-License-Identifier: MIT */
#include "cmd/record/guests.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/output.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/record/kernel.h"
#include "cmd/record/run.h"
#include "record/kernel/guest_recorder.h"

#define GUESTS_MAX 1024u
#define KEY_MAX 4096
#define KEY_MIN 16

#define MEMBER(m) offsetof(struct record_guest_options, m)

const struct cli_option record_guest_options[] = {
    {OPTION_STRING, 0, "key", "FILE", "file with the key that the agents know", MEMBER(key)},
    {OPTION_STRINGS, 0, "kvm", "[NAME=]PID", "process ID of the guest's QEMU, for its clock in KVM",
     MEMBER(kvms)},
    {OPTION_STRING, 0, "kvm-files", "DIR", "KVM's directory (" GUEST_KVM_ROOT ")",
     MEMBER(kvm_files)},
    {OPTION_STRINGS, 0, "filter", "GLOB=FILTER", "events of guests to trace if FILTER holds",
     MEMBER(filters)},
    {OPTION_STRING, 0, "clock", "NAME", "trace clock: x86-tsc, mono, ... (best of the guest)",
     MEMBER(clock)},
    {OPTION_PARSED, 0, "queue-size", "SIZE", "agent's queue for each CPU (4M)", MEMBER(queue), NULL,
     size_parse},
    {OPTION_NUMBER, 0, "compress", "LEVEL", "compress by zstd, 1 to 19 (0: off)", MEMBER(level)},
    {OPTION_FLAG, 0, "kallsyms", NULL, "also collect the names of kernel functions",
     MEMBER(kallsyms)},
    {OPTION_NUMBER, 0, "reconnect-timeout", "SECONDS",
     "time an agent without a connection keeps tracing (60)", MEMBER(keep)},
    {OPTION_NUMBER, 0, "cpus", "N", "virtio-trace: number of CPUs to create FIFOs for",
     MEMBER(cpus)},
    {OPTION_STRING, 0, "tracefs-copy", "DIR", "virtio-trace: a copy of the guest's tracefs",
     MEMBER(tracefs)},
    {OPTION_END},
};

/* What the recorders borrow. */
struct record_guests {
    struct guest_config *configs;
    char (*names)[72];
    unsigned n, room;
    struct guest_event *events;
    struct trace_config trace;
    char key[KEY_MAX];
};

void record_guest_options_done(struct record_guest_options *options)
{
    struct strings *const all[] = {&options->words,  &options->endpoints, &options->ports,
                                   &options->fifos,  &options->tcps,      &options->vsocks,
                                   &options->olds,   &options->kvms,      &options->events,
                                   &options->filters};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        strings_done(all[i]);
}

/* Whether WORD of --guest names an endpoint, and not events, "sched:*,irq:*": no event begins with a digit, nor has a
 * second colon. */
static bool is_endpoint(const char *word)
{
    if (strpbrk(word, "/="))
        return true;
    if (strncmp(word, "vsock:", 6) == 0)
        return word[6] >= '0' && word[6] <= '9';
    return strncmp(word, "tcp:", 4) == 0 && strchr(word + 4, ':') && !strchr(word, ',');
}

int record_guests_sort(struct record_guest_options *options, const char **ret_events)
{
    for (unsigned i = 0; i < options->words.n; i++) {
        const char *word = options->words.items[i];

        if (!is_endpoint(word))
            *ret_events = word;
        else if (strings_add(&options->endpoints, word) < 0)
            return -ENOMEM;
    }
    return 0;
}

static unsigned count_agents(const struct record_guest_options *options)
{
    return options->endpoints.n + options->ports.n + options->fifos.n + options->tcps.n +
           options->vsocks.n;
}

bool record_guests_are_given(const struct record_guest_options *options)
{
    return count_agents(options) + options->olds.n > 0;
}

void record_guests_free(struct record_guests *guests)
{
    if (!guests)
        return;
    free(guests->configs);
    free(guests->names);
    free(guests->events);
    free(guests);
}

/* ---- Endpoints ---- */

const char *record_guests_split(const char *text, unsigned n, char *name, size_t size)
{
    const char *equals = strchr(text, '=');

    if (equals && equals > text && (size_t)(equals - text) < size) {
        memcpy(name, text, (size_t)(equals - text));
        name[equals - text] = '\0';
        if (guest_name_is_valid(name))
            return equals + 1;
    }
    snprintf(name, size, n ? "%u" : "guest", n + 1);
    if (n)
        snprintf(name, size, "guest%u", n + 1);
    return text;
}

/* PLACE, as --guest has it. */
static enum guest_endpoint_kind find_kind(const char *place, const char **ret_place,
                                          bool *ret_fifos)
{
    static const struct {
        const char *prefix;
        enum guest_endpoint_kind kind;
        bool fifos;
    } kinds[] = {
        {"unix:", ENDPOINT_PORT, false},
        {"fifo:", ENDPOINT_PORT, true},
        {"tcp:", ENDPOINT_TCP, false},
        {"vsock:", ENDPOINT_VSOCK, false},
        {"virtio-trace:", ENDPOINT_VIRTIO_TRACE, false},
    };

    *ret_fifos = false;
    *ret_place = place;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strncmp(place, kinds[i].prefix, strlen(kinds[i].prefix)) == 0) {
            *ret_place = place + strlen(kinds[i].prefix);
            *ret_fifos = kinds[i].fifos;
            return kinds[i].kind;
        }
    return ENDPOINT_PORT;
}

/* PLACE of KIND is the guest whose name was just split off. */
static int add_guest(const struct record_options *options, struct record_guests *guests,
                     const char *place, enum guest_endpoint_kind kind, bool fifos)
{
    struct guest_config *config = &guests->configs[guests->n];
    struct error error = {0};
    int r = 0;

    config->name = guests->names[guests->n];
    if (options->guest && strcmp(config->name, RECORD_GUEST_OF_QEMU) == 0)
        return cli_usage_error(options->verb,
                               "the guest of QEMU is called %s; give the other one another name: "
                               "NAME=%s",
                               config->name, place);
    for (unsigned i = 0; i < guests->n; i++)
        if (strcmp(guests->names[i], config->name) == 0)
            return cli_usage_error(options->verb,
                                   "two guests are called %s; give them names: NAME=%s",
                                   config->name, place);
    if ((kind == ENDPOINT_TCP || kind == ENDPOINT_VSOCK) && !options->guests.key)
        return cli_usage_error(options->verb,
                               "guests at TCP and vsock addresses require --key=FILE");
    if (kind != ENDPOINT_VIRTIO_TRACE)
        r = guest_endpoint_parse(kind, place, &config->endpoint, &error);
    if (r >= 0 && fifos)
        r = guest_endpoint_make_fifos(place, &error);
    if (r < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    config->endpoint.text = place;
    config->trace = &guests->trace;
    config->kvm_root = options->guests.kvm_files;
    if (kind == ENDPOINT_VIRTIO_TRACE) {
        config->virtio_trace = place;
        config->tracefs_copy = options->guests.tracefs;
        config->cpus = (unsigned)options->guests.cpus;
    }
    guests->n++;
    return EXIT_SUCCESS;
}

/* The guests of STRINGS. IS_ANY: in the spelling of --guest, which names the kind. */
static int add_guests(const struct record_options *options, struct record_guests *guests,
                      const struct strings *strings, enum guest_endpoint_kind kind, bool fifos,
                      bool is_any)
{
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; status == EXIT_SUCCESS && i < strings->n; i++) {
        const char *place =
            record_guests_split(strings->items[i], guests->n + (options->guest != NULL),
                                guests->names[guests->n], sizeof *guests->names);

        if (is_any)
            kind = find_kind(place, &place, &fifos);
        status = add_guest(options, guests, place, kind, fifos);
    }
    return status;
}

static int add_all(const struct record_options *options, struct record_guests *guests)
{
    const struct record_guest_options *o = &options->guests;
    const struct {
        const struct strings *strings;
        enum guest_endpoint_kind kind;
        bool fifos, is_any;
    } lists[] = {
        {&o->endpoints, ENDPOINT_PORT, false, true},
        {&o->ports, ENDPOINT_PORT, false, false},
        {&o->fifos, ENDPOINT_PORT, true, false},
        {&o->tcps, ENDPOINT_TCP, false, false},
        {&o->vsocks, ENDPOINT_VSOCK, false, false},
        {&o->olds, ENDPOINT_VIRTIO_TRACE, false, false},
    };
    unsigned n = count_agents(o) + o->olds.n;
    int status = EXIT_SUCCESS;

    if (n > GUESTS_MAX)
        return cli_usage_error(options->verb, "more than %u guests", GUESTS_MAX);
    guests->configs = calloc(n, sizeof *guests->configs);
    guests->names = calloc(n, sizeof *guests->names);
    if (!guests->configs || !guests->names)
        return cli_no_memory();
    for (size_t i = 0; status == EXIT_SUCCESS && i < ARRAY_SIZE(lists); i++)
        status = add_guests(options, guests, lists[i].strings, lists[i].kind, lists[i].fifos,
                            lists[i].is_any);
    for (unsigned i = 0; i < guests->n; i++)
        guests->configs[i].n_guests = guests->n + (options->guest != NULL);
    return status;
}

/* --kvm: of the guest of that name, or of the first one. */
static int set_vmms(const struct record_options *options, struct record_guests *guests)
{
    for (unsigned i = 0; i < options->guests.kvms.n; i++) {
        const char *text = options->guests.kvms.items[i];
        const char *equals = strchr(text, '=');
        size_t len = equals ? (size_t)(equals - text) : 0;
        struct guest_config *config = equals ? NULL : &guests->configs[0];
        char *end;
        long pid = strtol(equals ? equals + 1 : text, &end, 10);

        for (unsigned j = 0; equals && j < guests->n; j++)
            if (strlen(guests->names[j]) == len && memcmp(guests->names[j], text, len) == 0)
                config = &guests->configs[j];
        if (!config)
            return cli_usage_error(options->verb, "--kvm=%s: there is no guest of that name", text);
        if (*end || pid <= 0 || pid > INT32_MAX)
            return cli_usage_error(options->verb, "--kvm=%s: invalid process ID", text);
        config->vmm = (pid_t)pid;
    }
    return EXIT_SUCCESS;
}

/* ---- What is traced ---- */

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

/* Events of guests: of an option for these alone; of --event where nothing else is recorded that has such; else what is
 * usual. */
static const char *const *choose_events(const struct record_options *options, unsigned *ret_n)
{
    const struct record_guest_options *guests = &options->guests;
    bool is_alone =
        !options->runs && !options->attach && !options->xen && options->buffers.names.n == 0;
    const struct strings *given =
        guests->events.n > 0 || !is_alone ? &guests->events : &options->events;

    *ret_n = given->n;
    if (given->n + guests->filters.n > 0)
        return given->items;
    return record_kernel_usual(false, ret_n);
}

/* The events and filters that are asked for; the strings of the latter are cut in two. */
static int make_events(const struct record_options *options, struct record_guests *guests)
{
    const struct strings *filters = &options->guests.filters;
    unsigned n;
    const char *const *patterns = choose_events(options, &n);

    guests->events = calloc(n + filters->n + 1, sizeof *guests->events);
    if (!guests->events)
        return cli_no_memory();
    for (unsigned i = 0; i < n; i++)
        guests->events[i] = (struct guest_event){patterns[i], ""};
    for (unsigned i = 0; i < filters->n; i++) {
        char *equals = strchr(filters->items[i], '=');

        if (!equals || equals[1] == '\0')
            return cli_usage_error(options->verb,
                                   "--filter requires GLOB=FILTER, as in 'irq:*=irq > 8'");
        guests->events[n + i] = (struct guest_event){filters->items[i], equals + 1};
        *equals = '\0';
    }
    guests->trace.events = guests->events;
    guests->trace.n_events = n + filters->n;
    return EXIT_SUCCESS;
}

static int make_trace(const struct record_options *options, struct record_guests *guests)
{
    const struct record_guest_options *o = &options->guests;
    struct trace_config *trace = &guests->trace;
    uint64_t buffer =
        options->buffers.buffer_size ? options->buffers.buffer_size : RECORD_KERNEL_BUFFER;
    struct error error = {0};

    if (o->keep > UINT32_MAX || buffer >> 10 > UINT32_MAX || o->queue >> 10 > UINT32_MAX)
        return cli_usage_error(
            options->verb, "value too large: --reconnect-timeout, --buffer-size or --queue-size");
    if (o->level > 19)
        return cli_usage_error(options->verb, "--compress is 0 to 19");
    if (o->key && read_key(o->key, guests->key, &trace->key_size, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    trace->key = o->key ? guests->key : NULL;
    trace->must_prove = o->key != NULL;
    trace->clock = o->clock ? o->clock : "";
    trace->buffer_kib = (uint32_t)(buffer >> 10);
    trace->queue_kib = (uint32_t)(o->queue >> 10);
    trace->keep_seconds = (uint32_t)o->keep;
    trace->level = (uint8_t)o->level;
    trace->wants = PROTO_WANT_CMDLINES | PROTO_WANT_PRINTK_FORMATS;
    trace->holds = record_kernel_may_hold(options);
    if (options->live.on)
        trace->wants |= PROTO_WANT_LIVE;
    if (o->kallsyms)
        trace->wants |= PROTO_WANT_KALLSYMS;
    return make_events(options, guests);
}

int record_guests_choose(struct record_run *run)
{
    const struct record_options *options = run->options;
    int status;

    if (!record_guests_are_given(&options->guests))
        return EXIT_SUCCESS;
    if (options->guests.cpus > PROTO_CPUS_MAX)
        return cli_usage_error(options->verb, "--cpus is at most %u", PROTO_CPUS_MAX);
    run->guests = calloc(1, sizeof *run->guests);
    if (!run->guests)
        return cli_no_memory();
    status = make_trace(options, run->guests);
    if (status == EXIT_SUCCESS)
        status = add_all(options, run->guests);
    if (status == EXIT_SUCCESS)
        status = set_vmms(options, run->guests);
    if (run->guests->n == 1 && run->guests->configs[0].vmm == 0)
        run->guests->configs[0].vmm = run->vmm;
    return status;
}

unsigned record_guests_count(const struct record_run *run)
{
    return run->guests ? run->guests->n : 0;
}

const char *record_guests_name(const struct record_run *run, unsigned i)
{
    return run->guests->names[i];
}

/* ---- The recorders ---- */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* One guest's end. Returns the exit status. */
static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct record_options *options = run->options;
    const struct guest *guest = guest_recorder_guest(item->recorder);
    const struct guest_progress *progress = &guest->progress;
    const struct guest_boot *boot = &guest->boots[guest->n_boots - 1];
    FILE *out = record_run_summary_file(run);
    _cleanup_(text_done) struct text line = TEXT_IN_MEMORY;
    char size[16], missing[160], error[24];

    bytes_text(size, sizeof size, progress->bytes);
    text_printf(&line, "%s: %s of %" PRIu32 " CPU%s", guest->config.name, size, progress->n_cpus,
                plural(progress->n_cpus));
    /* An old agent counts nothing, and another one had no time to report it where the disk was full at once. */
    if (!guest->config.virtio_trace && (progress->events || progress->bytes == 0))
        text_printf(&line, ", %" PRIu64 " event%s", progress->events, plural(progress->events));
    if (run->dir)
        text_printf(&line, "%s written to %s/guest-%s", guest->config.virtio_trace ? "," : "",
                    run->dir, guest->config.name);
    output_line(out, "%.*s", (int)text_len(&line), line.start);
    if (boot->n_pairs)
        output_line(out, "  its clock %s is related to the host's by %u %s%s%s, the best within %s",
                    boot->clock, boot->n_pairs, boot->by_kvm ? "reading" : "exchange",
                    plural(boot->n_pairs), boot->by_kvm ? " from KVM" : "",
                    record_error_text(error, sizeof error, (int64_t)boot->best.error_ns));
    if (progress->waited_ns && progress->stopped_ns)
        output_line(
            out,
            "  its first page came %.1f ms after it was started, its last %.0f ms after it was "
            "stopped",
            (double)progress->waited_ns / 1e6, (double)progress->stopped_ns / 1e6);
    if (progress->unshown) {
        bytes_text(size, sizeof size, progress->unshown);
        cli_message("  %s were not shown: the output was read too slowly%s", size,
                    run->dir ? "; the directory has them" : "");
    }
    if (progress->lost)
        cli_message("  %" PRIu64 " events were lost in the guest: its buffers were full",
                    progress->lost);
    if (record_kernel_is_cut(guest))
        cli_message("  %" PRIu64 " events that came could not be written", progress->unwritten);
    if (guest_missing_pages(progress, missing, sizeof missing))
        cli_message("  %s", missing);
    if (guest->error < 0) {
        cli_message("strata: %s: %s", guest->config.name, guest->what);
        return EXIT_FAILURE;
    }
    return options->strict && (guest_lost(guest) || progress->gaps || progress->full ||
                               (progress->unshown && !run->dir))
               ? EXIT_LOSSES
               : EXIT_SUCCESS;
}

int record_guests_add(struct record_run *run, bool is_primary)
{
    for (unsigned i = 0; i < record_guests_count(run); i++) {
        struct guest_recorder_settings settings = {
            .config = run->guests->configs[i],
            .is_primary = is_primary,
        };
        struct record_item item = {.sum_up = sum_up};

        settings.config.live = record_live_guest_stream(run, i);
        if (guest_recorder_new(&settings, &item.recorder) < 0)
            return cli_no_memory();
        if (!record_run_add(run, &item))
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
