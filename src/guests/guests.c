/* SPDX-License-Identifier: MIT */
#include "guests/guests.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macro.h"
#include "guests/guest_part.h"
#include "guests/guests_clock.h"
#include "guests/guests_manifest.h"
#include "manifest/host.h"

#define SECOND UINT64_C(1000000000)
#define RETRY_FIRST (SECOND / 20)
#define RETRY_LONGEST SECOND
/* At the end, a guest whose connection is lost is given so long to come back. */
#define STOP_PATIENCE (5 * SECOND)
/* … and one whose child says that it goes on, so long: the child itself gives up before. */
#define STOP_LONGEST (90 * SECOND)
/* Who comes so much later than it meant to was stopped, or had no time, and others too: that is not their delay. */
#define LATE SECOND
/* Who shows what an old guest sent is given so long at its end. */
#define SHOW_PATIENCE_MS 500
/* Packets of one guest that are looked at before others, and whoever calls us, have their turn: each may be a
 * file to be made. */
#define PACKETS_AT_ONCE 16u
/* … and turns in which all is heard that a channel holds, of a child that has ended. */
#define LAST_TURNS 256u
/* What a child may have written beyond what it was allowed, when it is seen: it has not kept to it. */
#define SIZE_SLACK (UINT64_C(64) << 20)

static void tell(const struct guests *guests, const struct guest *guest, const char *what)
{
    if (guests->tell)
        guests->tell(guest->plan.name, what);
}

/* What the user should know, and whoever reads the trace. */
static void warn(const struct guests *guests, struct guest *guest, const char *what)
{
    if (!*what)
        return;
    guest_part_problem(guest, what);
    tell(guests, guest, what);
}

static int on_pair(const struct guests *guests, struct guest *guest, const struct guest_pair *pair)
{
    char what[200];
    int r = guests_clock_pair(guest, pair, guest_part_pair, what, sizeof what);

    warn(guests, guest, what);
    return r;
}

static void add_fact(struct guests *guests, struct guest *guest, const char *name,
                     const char *value)
{
    struct guest_part *part = guest_part(guest);
    const struct {
        const char *name;
        char *to;
        size_t size;
    } facts[] = {
        {"agent", part->agent, sizeof part->agent},
        {"release", part->release, sizeof part->release},
        {"machine", part->machine, sizeof part->machine},
        {"boot_id", part->boot_id, sizeof part->boot_id},
        {"clock", part->clock, sizeof part->clock},
    };

    for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
        if (strcmp(facts[i].name, name) == 0)
            snprintf(facts[i].to, facts[i].size, "%s", value);
    if (strcmp(name, "clock") == 0) {
        char what[400];

        guests_clock_begin(guest, what, sizeof what);
        warn(guests, guest, what);
    } else if (strcmp(name, "hz") == 0) {
        part->hz = strtoull(value, NULL, 10);
    } else if (strcmp(name, "problem") == 0) {
        warn(guests, guest, value);
    }
}

/* The end of a guest's collecting. */
static void end(struct guest *guest, int error, const char *what)
{
    if (guest->ended)
        return;
    guest->ended = true;
    guest->error = error;
    snprintf(guest->what, sizeof guest->what, "%s", what);
    guest_part_end(guest);
    if (error < 0)
        guest_part_problem(guest, what);
    if (guest->progress.gaps > 0) {
        char lost[80];

        snprintf(lost, sizeof lost, "%llu pages were lost on the way from the guest",
                 (unsigned long long)guest->progress.gaps);
        guest_part_problem(guest, lost);
    }
    if (guest->link == LINK_IS_PENDING)
        close(guest->link_fd);
    guest->link = LINK_IS_AWAY;
    if (guest->plan.place.kind == PLACE_FD && guest->plan.place.fd >= 0)
        close(guest->plan.place.fd);
    guest->plan.place.fd = -1;
    live_out_drain(&guest->live, SHOW_PATIENCE_MS);
    guest->progress.unshown += guest->live.unshown;
    live_out_done(&guest->live);
    if (guest->channel >= 0)
        close(guest->channel);
    guest->channel = -1;
    if (guest->pid > 0) {
        int status = 0;

        /* It ends by itself, or is not to be trusted. */
        kill(guest->pid, SIGKILL);
        while (waitpid(guest->pid, &status, 0) < 0 && errno == EINTR)
            ;
        guest->pid = 0;
    }
}

static int give_connection(struct guest *guest, const int *fds, unsigned n)
{
    struct guest_packet packet = {.kind = PACKET_CONNECTION};
    int r = guest_packet_send(guest->channel, &packet, fds, n);

    for (unsigned i = 0; i < n; i++)
        close(fds[i]);
    guest->link = LINK_IS_GIVEN;
    guest->waiting_told = false;
    return r;
}

static void retry_later(struct guests *guests, struct guest *guest, int error, uint64_t now)
{
    char what[200];
    uint64_t wait = RETRY_FIRST << MIN(guest->retries, 8u);

    guest->link = LINK_IS_AWAY;
    guest->retries++;
    guest->retry_at = now + MIN(wait, RETRY_LONGEST);
    if (guest->waiting_told)
        return;
    guest->waiting_told = true;
    snprintf(what, sizeof what, "waits for %s: %s", guest->plan.place.text, strerror(-error));
    tell(guests, guest, what);
}

static int connect_it(struct guests *guests, struct guest *guest, uint64_t now)
{
    bool pending;
    int fds[2];
    unsigned n;
    int r = guest_place_connect(&guest->plan.place, fds, &n, &pending, NULL);

    guest->peer = r < 0 ? 0 : guest_place_peer(&guest->plan.place, fds[0]);
    if (r == -ENOTCONN) {
        end(guest, r, "its agent ended before its time");
        return 0;
    }
    if (r < 0) {
        retry_later(guests, guest, r, now);
        return 0;
    }
    if (!pending)
        return give_connection(guest, fds, n);
    guest->link = LINK_IS_PENDING;
    guest->link_fd = fds[0];
    guest->retry_at = now + 10 * SECOND;
    return 0;
}

static int connected(struct guests *guests, struct guest *guest, uint64_t now)
{
    int r = guest_place_made(guest->link_fd);

    if (r == 0)
        return give_connection(guest, &guest->link_fd, 1);
    close(guest->link_fd);
    retry_later(guests, guest, r, now);
    return 0;
}

static int hand_pages(struct guest *guest, uint32_t cpu, struct fault *fault)
{
    struct guest_packet packet = {.kind = PACKET_FILE};
    int fd = guest_store_pages(&guest->store, cpu, fault);

    packet.error = fd < 0 ? fd : 0;
    return guest_packet_send(guest->channel, &packet, &fd, fd < 0 ? 0 : 1);
}

/* A folder without pages is a trace without events, not one that is damaged. */
static int make_first(struct guest *guest, struct fault *fault)
{
    int fd = guest_store_pages(&guest->store, 0, fault);

    return fd < 0 && fd != -ENODATA ? fd : 0;
}

static int new_part(struct guests *guests, struct guest *guest, struct fault *fault)
{
    int r;

    guest_part_end(guest);
    r = guest_store_part(&guest->store, fault);
    if (r < 0)
        return r;
    r = guest_part_begin(guest);
    if (r >= 0)
        r = make_first(guest, fault);
    guests->written = false;
    tell(guests, guest, "its kernel has booted anew: what follows is a trace of its own");
    return r;
}

/* What this kernel has no way to forbid the guest's process is worth a word, once. */
static void see_measures(struct guests *guests, struct guest *guest)
{
    unsigned missing = (CONFINE_LANDLOCK | CONFINE_SECCOMP) & ~guest->progress.measures;
    char names[64], what[200];

    if (guest->measures_seen)
        return;
    guest->measures_seen = true;
    guests->written = false;
    if (missing == 0)
        return;
    confine_names(missing, names, sizeof names);
    snprintf(what, sizeof what,
             "what it sends is taken apart with less protection: this kernel has not all of what "
             "confines that process (%s)",
             names);
    warn(guests, guest, what);
}

static int on_progress(struct guests *guests, struct guest *guest,
                       const struct guest_packet *packet)
{
    struct guest_progress progress;

    if (packet->size != sizeof progress)
        return -EBADMSG;
    memcpy(&progress, packet->bytes, sizeof progress);
    if (progress.state == GUEST_RUNNING && !guest->was_running) {
        guests->written = false;
        tell(guests, guest, guest->was_traced ? "is connected again" : "traces");
        guest->was_running = guest->was_traced = true;
        guest->retries = 0;
    } else if (progress.state != GUEST_APART && progress.state < GUEST_RUNNING &&
               guest->was_running) {
        /* On the same connection, so that nothing else tells. */
        tell(guests, guest, "what it sends was damaged on the way: it is asked to begin anew");
        guest->was_running = false;
        guest->retries = MAX(guest->retries, 1u);
    }
    guest->was_traced = guest->was_traced || progress.ran;
    guest->progress = progress;
    see_measures(guests, guest);
    return 0;
}

static int on_packet(struct guests *guests, struct guest *guest, struct guest_packet *packet,
                     uint64_t now, struct fault *fault)
{
    const char *bytes = (const char *)packet->bytes;
    const char *value;
    struct guest_pair pair;

    switch (packet->kind) {
    case PACKET_FILE_BEGIN:
        return guest_store_file_begin(&guest->store, bytes, packet->size, fault);
    case PACKET_FILE_PUT: return guest_store_file_put(&guest->store, bytes, packet->size, fault);
    case PACKET_FILE_END: guest_store_file_end(&guest->store); return 0;
    case PACKET_PAGES: return hand_pages(guest, packet->cpu, fault);
    case PACKET_PART: return new_part(guests, guest, fault);
    case PACKET_FACT:
        value = memchr(bytes, 0, packet->size);
        if (!value || packet->size >= sizeof packet->bytes)
            return -EBADMSG;
        packet->bytes[packet->size] = 0;
        add_fact(guests, guest, bytes, value + 1);
        return 0;
    case PACKET_PAIR:
        if (packet->size != sizeof pair)
            return -EBADMSG;
        memcpy(&pair, packet->bytes, sizeof pair);
        return on_pair(guests, guest, &pair);
    case PACKET_PROGRESS: return on_progress(guests, guest, packet);
    case PACKET_APART:
        tell(guests, guest,
             guest->progress.said_bye ? "its agent has ended, and sent all that it had"
             : guest->progress.ran    ? "the connection is lost"
                                      : "the connection is of no use");
        guest->was_running = false;
        guest->link = LINK_IS_AWAY;
        guest->retries = MAX(guest->retries, 1u);
        guest->retry_at = now + RETRY_FIRST;
        return 0;
    case PACKET_END:
        packet->bytes[MIN(packet->size, sizeof packet->bytes - 1)] = 0;
        end(guest, packet->error, bytes);
        return 0;
    default: return -EBADMSG;
    }
}

/* Why a child that said nothing has ended. */
static void see_death(struct guest *guest)
{
    char what[200] = "its process has ended before its time";
    int status = 0;

    kill(guest->pid, SIGKILL);
    while (waitpid(guest->pid, &status, 0) < 0 && errno == EINTR)
        ;
    guest->pid = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        snprintf(what, sizeof what,
                 "its process was ended by signal %d (%s): what the guest sends is more than "
                 "unusual",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    end(guest, -ECHILD, what);
}

static int listen_to(struct guests *guests, struct guest *guest, uint64_t now)
{
    static struct guest_packet packet; /* the collector has one thread */
    struct fault fault = {0};

    for (unsigned i = 0; i < PACKETS_AT_ONCE && !guest->ended; i++) {
        int fds[2];
        unsigned n = 0;
        int r = guest_packet_receive(guest->channel, &packet, fds, &n);

        while (n > 0)
            close(fds[--n]);
        if (r == -EAGAIN)
            return 0;
        if (r == 0) {
            see_death(guest);
            return 0;
        }
        if (r > 0)
            r = on_packet(guests, guest, &packet, now, &fault);
        if (r < 0)
            end(guest, r, fault.what[0] ? fault.what : strerror(-r));
    }
    return 0;
}

/* Nothing can be sent to the child: it has ended, and may have said why, which is still to be heard. */
static void hear_last(struct guests *guests, struct guest *guest)
{
    for (unsigned i = 0; i < LAST_TURNS && !guest->ended; i++)
        (void)listen_to(guests, guest, clock_ns(CLOCK_MONOTONIC));
    if (!guest->ended)
        see_death(guest);
}

/* That a child keeps to its limits is seen from outside. */
static void check_sizes(struct guests *guests, uint64_t now)
{
    if (now < guests->sizes_next || guests->max_size == 0)
        return;
    guests->sizes_next = now + SECOND / 2;
    for (unsigned i = 0; i < guests->n; i++)
        if (!guests->guests[i].ended &&
            guest_store_size(&guests->guests[i].store) > guests->max_size + SIZE_SLACK)
            end(&guests->guests[i], -EFBIG, "it wrote more than --max-size allows");
}

/* When all are stopped, one that is apart from its agent has so long to meet it again. That there is a
 * link says nothing: a socket of QEMU's takes us whether or not an agent is behind it. */
static bool is_too_late(const struct guests *guests, const struct guest *guest, uint64_t now)
{
    return guests->stopping && !guest->ended && !guest->progress.said_bye &&
           now >= guests->stop_by + (guest->was_running ? STOP_LONGEST : 0);
}

static uint64_t next_retry(const struct guests *guests)
{
    uint64_t next = UINT64_MAX;

    for (unsigned i = 0; i < guests->n; i++) {
        const struct guest *guest = &guests->guests[i];

        if (is_too_late(guests, guest, guests->stop_by))
            next = MIN(next, guests->stop_by);
        if (!guest->ended && guest->link != LINK_IS_GIVEN)
            next = MIN(next, guest->retry_at);
    }
    return next;
}

static void do_links(struct guests *guests, uint64_t now)
{
    for (unsigned i = 0; i < guests->n; i++) {
        struct guest *guest = &guests->guests[i];
        int r = 0;

        if (guests->stopping && guest->progress.said_bye)
            end(guest, 0, "");
        if (is_too_late(guests, guest, now)) {
            end(guest, -ENOTCONN,
                guest->was_running ? "it did not come to its end"
                : guest->n_parts > 1 || guest->progress.bytes
                    ? "its connection was lost, and what it had left is missing"
                    : GUEST_NO_AGENT);
            continue;
        }
        if (guest->ended || guest->link == LINK_IS_GIVEN)
            continue;
        if (now < guest->retry_at)
            continue;
        if (guest->link == LINK_IS_PENDING) {
            close(guest->link_fd);
            retry_later(guests, guest, -ETIMEDOUT, now);
        } else {
            r = connect_it(guests, guest, now);
        }
        if (r < 0)
            hear_last(guests, guest);
    }
}

/* An agent of the old protocol: bytes as they come, no counts, and no end but that nothing comes. */
static void step_old(struct guest *guest, const struct pollfd *fds, uint64_t now)
{
    struct fault fault = {0};
    int r = old_guest_take(&guest->old, fds, &guest->store, now, &fault);

    guest->progress.bytes = guest->old.bytes;
    guest->progress.full = guest->old.full;
    guest->progress.n_cpus = guest->old.n;
    live_out_pump(&guest->live);
    if (guest->old.full)
        old_guest_stop(&guest->old, now);
    if (r < 0)
        end(guest, r, fault.what);
    else if (old_guest_is_over(&guest->old, now))
        end(guest, guest->old.stopped ? 0 : -ENOTCONN,
            guest->old.stopped ? "" : "all its ports were closed");
}

static bool all_ended(const struct guests *guests)
{
    for (unsigned i = 0; i < guests->n; i++)
        if (!guests->guests[i].ended)
            return false;
    return true;
}

/* What all guests wait for: two of each, and behind these the ports of the old ones. */
static unsigned fill_poll(const struct guests *guests, struct pollfd *fds)
{
    unsigned n = 2 * guests->n;

    for (unsigned i = 0; i < guests->n; i++) {
        const struct guest *guest = &guests->guests[i];

        fds[2 * i] = (struct pollfd){guest->channel, POLLIN, 0};
        fds[2 * i + 1] =
            (struct pollfd){guest->link == LINK_IS_PENDING ? guest->link_fd : -1, POLLOUT, 0};
        if (guest->plan.old && !guest->ended) {
            old_guest_poll(&guest->old, &fds[n]);
            n += guest->old.n + 1;
        }
    }
    return n;
}

static void serve(struct guests *guests, const struct pollfd *fds, uint64_t now)
{
    const struct pollfd *ports = fds + 2 * (size_t)guests->n;

    for (unsigned i = 0; i < guests->n; i++) {
        struct guest *guest = &guests->guests[i];

        if (guest->plan.old) {
            unsigned n = guest->ended ? 0 : guest->old.n + 1;

            if (n > 0)
                step_old(guest, ports, now);
            ports += n;
            continue;
        }
        if (fds[2 * i].revents)
            (void)listen_to(guests, guest, now);
        if (fds[2 * i + 1].revents && guest->link == LINK_IS_PENDING &&
            connected(guests, guest, now) < 0)
            hear_last(guests, guest);
    }
}

int guests_step(struct guests *guests, uint64_t sleep, const void *mask, struct fault *fault)
{
    size_t n_fds = 2 * (size_t)guests->n;
    _cleanup_free_ struct pollfd *fds = NULL;
    uint64_t now = clock_ns(CLOCK_MONOTONIC), next;
    struct timespec time;
    unsigned n;
    int r;

    for (unsigned i = 0; i < guests->n; i++)
        if (guests->guests[i].plan.old)
            n_fds += guests->guests[i].old.n + 1;
    fds = calloc(n_fds, sizeof *fds);
    if (!fds)
        return fault_plain(fault, -ENOMEM, NULL, "out of memory");
    if (guests->stopping && guests->back_by && now > guests->back_by + LATE)
        guests->stop_by += now - guests->back_by;
    do_links(guests, now);
    n = fill_poll(guests, fds);
    if (all_ended(guests))
        return 0;
    next = next_retry(guests);
    sleep = MIN(sleep, next > now ? next - now : 0);
    guests->back_by = now + sleep;
    time = (struct timespec){.tv_sec = (time_t)(sleep / SECOND), .tv_nsec = (long)(sleep % SECOND)};
    r = ppoll(fds, n, &time, mask);
    if (r < 0 && errno != EINTR)
        return fault_plain(fault, -errno, NULL, "cannot wait for the guests: %s", strerror(errno));
    now = clock_ns(CLOCK_MONOTONIC);
    if (r < 0)
        memset(fds, 0, n_fds * sizeof *fds);
    serve(guests, fds, now);
    check_sizes(guests, now);
    if (!guests->written && !guests->is_part && guests->path) {
        r = guests_write_manifest(guests, false, fault);
        if (r < 0)
            return r;
        guests->written = true;
    }
    return !all_ended(guests);
}

int guests_await(struct guests *guests, const char *name, uint64_t ns, struct fault *fault)
{
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + ns;
    uint64_t now;
    int r = 1;

    while (r > 0 && (now = clock_ns(CLOCK_MONOTONIC)) < until) {
        bool waits = false;

        for (unsigned i = 0; i < guests->n; i++)
            waits |= strcmp(guests->guests[i].plan.name, name) == 0 &&
                     !guests->guests[i].was_running && !guests->guests[i].ended;
        if (!waits)
            break;
        r = guests_step(guests, until - now, NULL, fault);
    }
    return MIN(r, 0);
}

bool guests_are_connected(const struct guests *guests)
{
    for (unsigned i = 0; i < guests->n; i++)
        if (!guests->guests[i].ended && guests->guests[i].link == LINK_IS_GIVEN)
            return true;
    return false;
}

void guests_stop(struct guests *guests)
{
    struct guest_packet packet = {.kind = PACKET_STOP};
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (guests->stopping)
        return;
    guests->stopping = true;
    guests->stop_by = now + STOP_PATIENCE;
    for (unsigned i = 0; i < guests->n; i++) {
        struct guest *guest = &guests->guests[i];

        if (guest->plan.old)
            old_guest_stop(&guest->old, now);
        else if (!guest->ended && guest_packet_send(guest->channel, &packet, NULL, 0) < 0)
            hear_last(guests, guest);
    }
}

static bool is_empty(int folder)
{
    _cleanup_(closedirp) DIR *dir = open_dir_at(folder, ".");
    const struct dirent *entry;
    bool empty = true;

    if (!dir)
        return false;
    while (empty && (entry = readdir(dir)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    return empty;
}

static int open_folder(const char *path, int *ret_folder, struct fault *fault)
{
    int folder;

    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return fault_plain(fault, -errno, path, "cannot make the folder: %s", strerror(errno));
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return fault_plain(fault, -errno, path, "cannot open the folder: %s", strerror(errno));
    if (!is_empty(folder)) {
        close(folder);
        return fault_plain(fault, -EEXIST, path,
                           "holds something already; name a folder that is new");
    }
    *ret_folder = folder;
    return 0;
}

static void free_guest(struct guest *guest)
{
    guest_parts_done(guest);
    if (guest->plan.old)
        old_guest_done(&guest->old);
    live_out_done(&guest->live);
    guests_clock_done(guest);
    guest_store_done(&guest->store);
}

static int open_old(struct guests *guests, struct guest *guest, struct fault *fault)
{
    int r = live_out_init(&guest->live, guest->plan.live ? *guest->plan.live : -1);

    if (r < 0)
        return fault_plain(fault, r, NULL, "out of memory");
    guest->store.live = &guest->live;
    if (guest->plan.tree)
        r = old_guest_copy_tree(guest->plan.tree, &guest->store, fault);
    if (r >= 0)
        r = old_guest_open(guest->plan.old, guest->plan.cpus, guests->max_size, &guest->old, fault);
    if (r >= 0) {
        guest->was_running = true;
        guest->link = LINK_IS_GIVEN;
    }
    return r;
}

static int open_guest(struct guests *guests, const struct guest_plan *plan,
                      const struct confine_user *user, struct fault *fault)
{
    struct guest *guest = &guests->guests[guests->n];
    struct guest_child_options options = {
        .user = *user,
        .max_file = guests->max_size,
        .keeps = guests->path != NULL,
        .live = plan->live ? *plan->live : -1,
    };
    int r;

    *guest = (struct guest){
        .plan = *plan, .channel = -1, .live.fd = -1, .old.control = {.in = -1, .out = -1}};
    guest->wishes = plan->wishes ? *plan->wishes : guests->wishes;
    guest->wishes.max_size = guests->max_size;
    options.wishes = &guest->wishes;
    if (plan->is_host) {
        guest->wishes.clock = "mono";
        guest->wishes.keep_seconds = 0; /* there will be no other connection */
    }
    r = guest_store_open(guests->folder, plan->is_host ? "" : GUEST_PREFIX, plan->name,
                         &guest->store, fault);
    if (r < 0)
        return r;
    guests->n++;
    r = guest_part_begin(guest);
    if (r < 0)
        return fault_plain(fault, r, NULL, "out of memory");
    r = make_first(guest, fault);
    if (r < 0)
        return r;
    if (plan->old)
        return open_old(guests, guest, fault);
    r = guest_child_start(&options, &guest->pid, &guest->channel, fault);
    if (plan->live)
        close(*plan->live);
    return r;
}

/* FOLDER -1: PATH is made, and is theirs. */
static int open_all(int folder, const char *path, const struct guest_wishes *wishes,
                    uint64_t max_size, const struct guest_plan *plans, unsigned n,
                    struct guests *ret_guests, struct fault *fault)
{
    struct confine_user user = confine_user();
    struct guests guests = {.folder = folder,
                            .is_part = folder >= 0,
                            .wishes = *wishes,
                            .max_size = max_size,
                            .spare = -1};
    int r = 0;

    guests.path = path ? strdup(path) : NULL;
    guests.guests = calloc(n, sizeof *guests.guests);
    if ((path && !guests.path) || !guests.guests)
        r = fault_plain(fault, -ENOMEM, NULL, "out of memory");
    else if (!guests.is_part && path)
        r = open_folder(path, &guests.folder, fault);
    for (unsigned i = 0; r >= 0 && i < n; i++)
        r = open_guest(&guests, &plans[i], &user, fault);
    if (r < 0) {
        for (unsigned i = 0; i < guests.n; i++) {
            if (guests.guests[i].n_parts)
                end(&guests.guests[i], r, "");
            free_guest(&guests.guests[i]);
        }
        if (guests.folder >= 0 && !guests.is_part)
            close(guests.folder);
        free(guests.guests);
        free(guests.path);
        return r;
    }
    *ret_guests = guests;
    return 0;
}

int guests_open(const char *path, const struct guest_wishes *wishes, uint64_t max_size,
                const struct guest_plan *plans, unsigned n, struct guests *ret_guests,
                struct fault *fault)
{
    return open_all(-1, path, wishes, max_size, plans, n, ret_guests, fault);
}

int guests_join(int folder, const char *path, const struct guest_wishes *wishes, uint64_t max_size,
                const struct guest_plan *plans, unsigned n, struct guests *ret_guests,
                struct fault *fault)
{
    return open_all(folder, path, wishes, max_size, plans, n, ret_guests, fault);
}

bool guest_is_silent(const struct guest *guest)
{
    return guest->n_parts == 1 && !guest->was_running && guest->progress.bytes == 0 &&
           guest->store.n_files == 0;
}

void guests_remove_silent(struct guests *guests)
{
    for (unsigned i = 0; i < guests->n; i++)
        if (guest_is_silent(&guests->guests[i]))
            guest_store_remove(&guests->guests[i].store);
}

void guests_end_because(struct guests *guests, const char *traced, const char *silent)
{
    for (unsigned i = 0; i < guests->n; i++) {
        struct guest *guest = &guests->guests[i];
        bool spoke = !guest_is_silent(guest);

        if (guest->progress.said_bye)
            end(guest, 0, "");
        else
            end(guest, spoke ? -EINTR : -ENOTCONN, spoke ? traced : silent);
    }
}

void guests_end(struct guests *guests)
{
    const char *what = "was ended before the guest had sent the rest";

    guests_end_because(guests, what, what);
}

int guests_close(struct guests *guests, struct fault *fault)
{
    int r = 0;

    guests_end(guests);
    if (!guests->is_part && guests->path)
        r = guests_write_manifest(guests, true, fault);
    for (unsigned i = 0; i < guests->n; i++)
        free_guest(&guests->guests[i]);
    if (!guests->is_part && guests->folder >= 0)
        close(guests->folder);
    free(guests->guests);
    free(guests->path);
    *guests = (struct guests){.folder = -1, .spare = -1};
    return r;
}
