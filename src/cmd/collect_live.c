/* SPDX-License-Identifier: MIT */
#include "cmd/collect_live.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/walk.h"
#include "format/ftrace/live.h"
#include "print/view.h"
#include "record/agent/confine.h"
#include "record/agent/guest_session.h"
#include "record/agent/live_stream.h"
#include "timeline/clock_map.h"

#define MS UINT64_C(1000000)
/* How long an event waits for those of other CPUs: the agent takes pages from the kernel at least every 100 ms. */
#define DELAY (250 * MS)
#define RATE_TIMEOUT (2000 * MS)
#define OUT_SIZE ((size_t)64 * 1024)
/* Pages of all guests that wait here; with more, what is there is shown before more is taken. */
#define HELD_MAX ((size_t)32 << 20)
#define MESSAGES_AT_ONCE 64
#define ITEMS_AT_ONCE 4096
#define FILE_MAX ((size_t)16 << 20)
#define PAIRS_KEPT 32
#define STATUS_UNREAD 10

struct shown_guest {
    const char *name;
    int fd; /* -1: nothing more comes */
    struct ftrace_live *live;
    bool broken; /* it was told why its pages are not shown */
    /* The file that is under way. */
    char path[512];
    char *text;
    size_t len, capacity;
    /* Its clock. */
    uint64_t hz;
    struct clock_map_pair pairs[PAIRS_KEPT];
    unsigned n_pairs;
    struct clock_map clock_map;
    bool in_host_time; /* since its first page */
    uint64_t
        rate_by; /* so long its items wait for the rate of its clock, which two pairs tell; 0: they do not */
    /* The item to be shown next. */
    struct item *item;
    int64_t key, error_ns;
    uint64_t came;
};

struct live_viewer {
    struct shown_guest *guests;
    unsigned n;
    struct catalogue catalogue;
    struct text out;
    struct sink *view;
    uint8_t message[sizeof(struct live_head) + LIVE_BYTES_MAX + 1];
};

/* What comes. */

static void forget_file(struct shown_guest *guest)
{
    free(TAKE_PTR(guest->text));
    guest->len = guest->capacity = 0;
    guest->path[0] = '\0';
}

static void file_put(struct shown_guest *guest, const uint8_t *p, size_t size)
{
    if (!*guest->path)
        return;
    if (guest->len + size > FILE_MAX) {
        forget_file(guest);
        return;
    }
    if (guest->len + size + 1 > guest->capacity) {
        size_t capacity = MAX(2 * guest->capacity, guest->len + size + 1);
        char *bigger = realloc(guest->text, capacity);

        if (!bigger) {
            forget_file(guest);
            return;
        }
        guest->text = bigger;
        guest->capacity = capacity;
    }
    memcpy(guest->text + guest->len, p, size);
    guest->len += size;
    guest->text[guest->len] = '\0';
}

static void file_end(struct shown_guest *guest)
{
    if (guest->text && guest->live)
        (void)ftrace_live_file(guest->live, guest->path, TAKE_PTR(guest->text), guest->len);
    forget_file(guest);
}

/* What is left out here is shown without; a fact ends with a NUL. */
static void fact(struct shown_guest *guest, const char *bytes, size_t size)
{
    const char *value = memchr(bytes, 0, size);

    if (value && strcmp(bytes, "hz") == 0)
        guest->hz = strtoull(value + 1, NULL, 10);
}

/* Later times are told by the latest pairs. */
static void add_pair(struct shown_guest *guest, const struct guest_pair *pair)
{
    const struct clock_map_pair *last = &guest->pairs[guest->n_pairs ? guest->n_pairs - 1 : 0];
    struct clock_map_pair added = {(int64_t)pair->host_ns, (int64_t)pair->guest,
                                   (int64_t)pair->error_ns};
    struct clock_map clock_map;

    if (MAX(MAX(pair->guest, pair->host_ns), pair->error_ns) > INT64_MAX / 2 ||
        (guest->n_pairs > 0 && (added.ticks <= last->ticks || added.host_ns <= last->host_ns)))
        return;
    if (guest->n_pairs == PAIRS_KEPT) {
        memmove(guest->pairs, guest->pairs + 1, (PAIRS_KEPT - 1) * sizeof *guest->pairs);
        guest->n_pairs--;
    }
    guest->pairs[guest->n_pairs++] = added;
    if (clock_map_of_pairs(guest->pairs, guest->n_pairs, guest->name, guest->hz, &clock_map, NULL) <
        0)
        return;
    clock_map_done(&guest->clock_map);
    guest->clock_map = clock_map;
}

/* Another kernel is traced by that guest. */
static int begin_part(struct live_viewer *shower, struct shown_guest *guest)
{
    guest->live = ftrace_live_free(guest->live);
    guest->item = NULL;
    guest->n_pairs = 0;
    guest->hz = 0;
    guest->broken = guest->in_host_time = false;
    guest->rate_by = 0;
    clock_map_done(&guest->clock_map);
    guest->clock_map = (struct clock_map){0};
    forget_file(guest);
    return ftrace_live_new(&shower->catalogue, guest->name, LAYER_GUEST, &guest->live);
}

static int take_pages(struct live_viewer *shower, struct shown_guest *guest,
                      const struct live_head *head, const uint8_t *p, size_t size, uint64_t now)
{
    bool first = !ftrace_live_origin(guest->live);
    struct error error = {0};
    int r;

    if (guest->broken)
        return 0;
    ftrace_live_set_hz(guest->live, guest->hz);
    r = ftrace_live_pages(guest->live, head->cpu, head->offset, p, size, now, &error);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        guest->broken = true;
        cli_error("%s: its events cannot be shown: %s", guest->name, error.what);
    } else if (first && !ftrace_live_origin(guest->live)) {
        return 0;
    } else if (first && shower->n > 1 && guest->clock_map.n) {
        guest->in_host_time = true;
        ftrace_live_origin(guest->live)->clock = (struct clock){"monotonic", NANOSECONDS};
    } else if (first && ftrace_live_origin(guest->live)->clock.hz == 0 && guest->n_pairs) {
        guest->rate_by = now + RATE_TIMEOUT;
    }
    return 0;
}

/* One message, whose SIZE bytes have a NUL behind them. */
static int take_message(struct live_viewer *shower, struct shown_guest *guest, size_t size,
                        uint64_t now)
{
    const uint8_t *bytes = shower->message + sizeof(struct live_head);
    struct guest_pair pair;
    struct live_head head;

    if (size < sizeof head)
        return 0;
    memcpy(&head, shower->message, sizeof head);
    size -= sizeof head;
    switch (head.kind) {
    case LIVE_FILE_BEGIN:
        forget_file(guest);
        if (size < sizeof guest->path)
            memcpy(guest->path, bytes, size + 1);
        file_put(guest, bytes, 0); /* it may be empty */
        return 0;
    case LIVE_FILE_PUT: file_put(guest, bytes, size); return 0;
    case LIVE_FILE_END: file_end(guest); return 0;
    case LIVE_FACT: fact(guest, (const char *)bytes, size); return 0;
    case LIVE_PAIR:
        if (size == sizeof pair) {
            memcpy(&pair, bytes, sizeof pair);
            add_pair(guest, &pair);
        }
        return 0;
    case LIVE_BOOT: return begin_part(shower, guest);
    case LIVE_PAGES: return take_pages(shower, guest, &head, bytes, size, now);
    default: return 0;
    }
}

static int listen_to(struct live_viewer *shower, struct shown_guest *guest, uint64_t now)
{
    for (unsigned i = 0; i < MESSAGES_AT_ONCE; i++) {
        ssize_t n = recv(guest->fd, shower->message, sizeof shower->message - 1, MSG_DONTWAIT);
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            close(guest->fd);
            guest->fd = -1;
            ftrace_live_end(guest->live);
            return 0;
        }
        shower->message[n] = 0;
        r = take_message(shower, guest, (size_t)n, now);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What is shown. */

static unsigned number_of(void *arg, const struct origin *origin)
{
    const struct live_viewer *shower = arg;
    unsigned i = 0;

    while (i + 1 < shower->n && strcmp(shower->guests[i].name, origin->path) != 0)
        i++;
    return i;
}

/* Whether its items still wait for the rate of its clock. */
static bool waits_for_rate(struct shown_guest *guest, uint64_t now)
{
    if (guest->rate_by == 0)
        return false;
    if (guest->n_pairs < 2 && now < guest->rate_by && guest->fd >= 0)
        return true;
    guest->rate_by = 0;
    ftrace_live_origin(guest->live)->clock.hz = guest->clock_map.hz;
    return false;
}

/* Looks at the guest's next item. */
static bool look(struct shown_guest *guest)
{
    if (!ftrace_live_look(guest->live, &guest->item, &guest->came)) {
        guest->item = NULL;
        return false;
    }
    guest->key = guest->item->time;
    if (guest->in_host_time && guest->key != TIME_UNKNOWN)
        guest->key = clock_map_convert(&guest->clock_map, guest->key, &guest->error_ns);
    else if (!guest->in_host_time)
        guest->key = (int64_t)guest->came;
    return true;
}

static int show_item(struct live_viewer *shower, struct shown_guest *guest)
{
    struct item item = *guest->item;
    int r;

    if (guest->in_host_time) {
        item.time = guest->key;
        item.error_ns = (uint32_t)MIN(MAX(guest->error_ns, 0), (int64_t)UINT32_MAX);
        if (item.kind == ITEM_LOSS && item.since != TIME_UNKNOWN)
            item.since = clock_map_convert(&guest->clock_map, item.since, NULL);
    }
    r = sink_put(shower->view, &item, 1);
    ftrace_live_take(guest->live);
    return r;
}

static size_t held(const struct live_viewer *shower)
{
    size_t sum = 0;

    for (unsigned i = 0; i < shower->n; i++)
        sum += ftrace_live_held(shower->guests[i].live);
    return sum;
}

/* Shows what is due at NOW. *RET_NEXT: when something is again; UINT64_MAX: nothing waits. */
static int show(struct live_viewer *shower, uint64_t now, uint64_t *ret_next)
{
    bool is_full = held(shower) > HELD_MAX / 2;

    for (unsigned n = 0; n < ITEMS_AT_ONCE && !shower->out.error; n++) {
        struct shown_guest *first = NULL;
        uint64_t next = UINT64_MAX, waits = UINT64_MAX;
        int r;

        for (unsigned i = 0; i < shower->n; i++) {
            struct shown_guest *guest = &shower->guests[i];

            if (waits_for_rate(guest, now)) {
                waits = MIN(waits, guest->rate_by);
                continue;
            }
            if (!look(guest))
                continue;
            if (!first || guest->key < first->key)
                first = guest;
            next = MIN(next, guest->fd < 0 || is_full ? 0 : guest->came + DELAY);
        }
        if (!first || next > now) {
            *ret_next = MIN(next, waits);
            return 0;
        }
        r = show_item(shower, first);
        if (r < 0)
            return r;
    }
    *ret_next = now;
    return 0;
}

/* Waits for guests until NEXT; true: there are some still. */
static bool wait_for(struct live_viewer *shower, uint64_t next, struct pollfd *fds)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t sleep = next > now ? next - now : 0;
    struct timespec time = {(time_t)(sleep / (1000 * MS)), (long)(sleep % (1000 * MS))};
    bool is_full = held(shower) > HELD_MAX;
    bool any = false;

    for (unsigned i = 0; i < shower->n; i++) {
        fds[i] = (struct pollfd){is_full ? -1 : shower->guests[i].fd, POLLIN, 0};
        any = any || shower->guests[i].fd >= 0;
    }
    if (!any)
        return false;
    if (sleep > 0)
        text_flush(&shower->out);
    /* That nobody reads is known also while there is nothing to write. */
    fds[shower->n] = (struct pollfd){STDOUT_FILENO, 0, 0};
    if (ppoll(fds, shower->n + 1, next == UINT64_MAX ? NULL : &time, NULL) < 0)
        for (unsigned i = 0; i <= shower->n; i++)
            fds[i].revents = 0;
    if (fds[shower->n].revents & (POLLERR | POLLHUP) && !shower->out.error)
        shower->out.error = -EPIPE;
    return true;
}

static int work(struct live_viewer *shower)
{
    _cleanup_free_ struct pollfd *fds = calloc(shower->n + 1, sizeof *fds);
    bool any = true;
    uint64_t next;
    int r = fds ? 0 : -ENOMEM;

    while (r >= 0 && !shower->out.error) {
        r = show(shower, clock_ns(CLOCK_MONOTONIC), &next);
        if (r < 0 || (!any && next == UINT64_MAX))
            break;
        any = wait_for(shower, next, fds);
        for (unsigned i = 0; any && i < shower->n && r >= 0; i++)
            if (fds[i].revents)
                r = listen_to(shower, &shower->guests[i], clock_ns(CLOCK_MONOTONIC));
    }
    text_flush(&shower->out);
    return shower->out.error ? shower->out.error : r;
}

static int open_view(struct live_viewer *shower, const struct collect_live_options *live)
{
    struct view_options options = {
        .spreadsheet = live->spreadsheet,
        .color = live->format == COLLECT_TEXT && wants_color(STDOUT_FILENO),
        .origin_number = shower->n > 1 ? number_of : NULL,
        .origin_arg = shower,
        .errors = shower->n > 1,
    };

    switch (live->format) {
    case COLLECT_JSON: return line_json_open(&options, &shower->out, &shower->view);
    case COLLECT_CSV: return line_csv_open(&options, &shower->out, &shower->view);
    default: return line_text_open(&options, &shower->out, &shower->view);
    }
}

static enum output_kind kind_of(enum collect_format format)
{
    if (format != COLLECT_TEXT)
        return OUTPUT_DATA;
    return wants_color(STDOUT_FILENO) ? OUTPUT_COLOR_TEXT : OUTPUT_TEXT;
}

static int prepare(struct live_viewer *shower, const struct collect_live_options *options)
{
    int r = output_open(&shower->out, kind_of(options->format), OUT_SIZE);

    if (r >= 0)
        r = open_view(shower, options);
    for (unsigned i = 0; r >= 0 && i < shower->n; i++)
        r = begin_part(shower, &shower->guests[i]);
    return r;
}

static int keep_descriptors(const int *ends, unsigned n)
{
    _cleanup_free_ int *keep = malloc((n + 2) * sizeof *keep);

    if (!keep)
        return -ENOMEM;
    memcpy(keep, ends, n * sizeof *keep);
    keep[n] = STDOUT_FILENO;
    keep[n + 1] = STDERR_FILENO;
    return confine_descriptors(keep, n + 2);
}

/* The process. */
static void run(const char *const *names, const int *ends, unsigned n,
                const struct collect_live_options *options)
{
    struct confine_user user = confine_user();
    struct live_viewer *shower = calloc(1, sizeof *shower);
    struct error error = {0};
    unsigned measures;
    int r = -ENOMEM;

    if (shower)
        shower->guests = calloc(n, sizeof *shower->guests);
    if (shower && shower->guests) {
        shower->n = n;
        for (unsigned i = 0; i < n; i++)
            shower->guests[i] = (struct shown_guest){.name = names[i], .fd = ends[i]};
        r = prepare(shower, options);
    }
    if (r >= 0)
        r = keep_descriptors(ends, n);
    if (r >= 0) {
        r = confine(&user, 0, &measures, &error);
        if (r < 0)
            cli_print_error(&error);
    }
    if (r >= 0) {
        sink_begin(shower->view);
        r = work(shower);
        if (r < 0 && r != -EPIPE)
            cli_error("cannot show more: %s", strerror(-r));
    }
    _exit(r == -EPIPE ? STATUS_UNREAD : r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

int collect_live_start(const char *const *names, unsigned n,
                       const struct collect_live_options *options, struct collect_live *ret_live,
                       int *ret_ends, struct error *error)
{
    _cleanup_free_ int *theirs = malloc(n * sizeof *theirs);
    unsigned made = 0;
    pid_t pid = -1;
    int r = theirs ? 0 : -ENOMEM;

    for (; r >= 0 && made < n; made++) {
        int ends[2];

        r = live_pair(ends);
        if (r < 0)
            break;
        ret_ends[made] = ends[0];
        theirs[made] = ends[1];
    }
    if (r >= 0) {
        fflush(NULL); /* else the process would write it, too */
        pid = fork();
        r = pid < 0 ? -errno : 0;
    }
    if (pid == 0) {
        /* Told to end by its guests' ends alone. */
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        run(names, theirs, n, options);
    }
    for (unsigned i = 0; i < made; i++) {
        close(theirs[i]);
        if (r < 0)
            close(ret_ends[i]);
    }
    if (r < 0)
        return error_set(error, r, NULL, "cannot start the process that shows events: %s",
                         strerror(-r));
    ret_live->pid = pid;
    return 0;
}

enum collect_live_end collect_live_look(struct collect_live *live)
{
    int status = 0;
    pid_t r;

    if (live->pid == 0)
        return LIVE_IS_DONE;
    do
        r = waitpid(live->pid, &status, WNOHANG);
    while (r < 0 && errno == EINTR);
    if (r == 0)
        return LIVE_GOES_ON;
    live->pid = 0;
    if (r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        return LIVE_IS_DONE;
    if (r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_UNREAD)
        return LIVE_IS_UNREAD;
    if (r > 0 && WIFSIGNALED(status))
        cli_error("the live viewer was killed by signal %d (%s), probably by malformed data "
                  "from a guest",
                  WTERMSIG(status), strsignal(WTERMSIG(status)));
    return LIVE_FAILED;
}

void collect_live_kill(struct collect_live *live)
{
    int status;

    if (live->pid == 0)
        return;
    kill(live->pid, SIGKILL);
    while (waitpid(live->pid, &status, 0) < 0 && errno == EINTR)
        ;
    live->pid = 0;
}
