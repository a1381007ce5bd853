/* SPDX-License-Identifier: MIT */
/* The packets of a guest's child: files for the store, facts and clock pairs for its boot, and its progress. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_clock.h"
#include "record/kernel/guest_internal.h"

/* Packets of one guest that are handled before the other recorders have their turn: each may need a file to be made. */
#define PACKETS_AT_ONCE 16u
/* How often that is done for a child that has exited, to read all that its channel holds. */
#define LAST_READS_MAX 256u

/* Prints WHAT, and adds it to the trace's problems. */
static void warn(struct guest *guest, const char *what)
{
    if (!*what)
        return;
    guest_boot_problem(guest, what);
    guest_report(guest, what);
}

/* What the guest itself reports. */
static void on_problem(struct guest *guest, const char *what)
{
    if (*what && guest_boot_report(guest, what))
        guest_report(guest, what);
}

static int on_open_pages(struct guest *guest, uint32_t cpu, struct error *error)
{
    struct guest_packet_head answer = {.kind = PACKET_FILE};
    int fd = guest_store_open_pages(&guest->store, cpu, error);
    int r;

    answer.error = fd < 0 ? fd : 0;
    r = guest_packet_send_to_child(guest->channel, &answer, &fd, fd < 0 ? 0 : 1);
    if (fd >= 0)
        close(fd);
    return r;
}

/* Warns once if this kernel cannot confine the guest's child fully. */
static void check_confinement(struct guest *guest)
{
    unsigned missing = (SANDBOX_LANDLOCK | SANDBOX_SECCOMP) & ~guest->progress.measures;
    char names[64], what[256];

    if (guest->measures_seen)
        return;
    guest->measures_seen = true;
    guest->written = false;
    if (missing == 0)
        return;
    sandbox_names(missing, names, sizeof names);
    snprintf(what, sizeof what,
             "its data is parsed with less protection, without %s: this kernel has it not, or a "
             "filter of "
             "system calls forbids it",
             names);
    warn(guest, what);
}

/* A bool that holds another value would be undefined. */
static bool is_bool(const struct guest_packet *packet, size_t offset)
{
    return packet->bytes[offset] <= 1;
}

static int on_progress(struct guest *guest, const struct guest_packet *packet)
{
    struct guest_progress progress;

    if (packet->head.size != sizeof progress ||
        !is_bool(packet, offsetof(struct guest_progress, full)) ||
        !is_bool(packet, offsetof(struct guest_progress, ran)) ||
        !is_bool(packet, offsetof(struct guest_progress, said_bye)) ||
        !is_bool(packet, offsetof(struct guest_progress, is_silent)))
        return -EBADMSG;
    memcpy(&progress, packet->bytes, sizeof progress);
    if (progress.state > GUEST_OVER || progress.n_cpus > PROTO_CPUS_MAX)
        return -EBADMSG;
    if (progress.state == GUEST_RUNNING && !guest->was_running) {
        guest->written = false;
        guest_report(guest, guest->is_rewound   ? "traces again"
                            : guest->was_traced ? "is connected again"
                                                : "traces");
        guest->was_running = guest->was_traced = true;
        guest->is_exit_reported = false;
        guest->closed_at = guest->lost_at = 0;
        guest->is_rewound = false;
        guest->retries = 0;
    } else if (progress.state != GUEST_DISCONNECTED && progress.state < GUEST_RUNNING &&
               guest->was_running) {
        /* On the same connection, so no other message says it. */
        guest_report(guest, "data from the guest was corrupted; restarting the session");
        guest->was_running = false;
        guest->retries = MAX(guest->retries, 1u);
    }
    guest->was_traced = guest->was_traced || progress.ran;
    if (guest->trace.drops_when_full && progress.unwritten > guest->progress.unwritten)
        warn(guest, GUEST_DISK_FULL);
    guest->progress = progress;
    check_confinement(guest);
    return 0;
}

/* ---- The trace that the child sends ---- */

/* A packet of one guest's child. */
struct delivery {
    struct kernel_sink sink;
    struct guest *guest;
};

static struct delivery *delivery_of(struct kernel_sink *sink)
{
    return container_of(sink, struct delivery, sink);
}

/* A file that cannot be replaced, as the guest sends the names of its tasks again at the end, does not end the guest. */
static int on_file(struct delivery *delivery, int r)
{
    struct guest *guest = delivery->guest;
    char what[sizeof guest->store.path + 80];

    if (r <= 0)
        return r;
    snprintf(what, sizeof what, "%s: no room on the disk for its later content", guest->store.path);
    warn(guest, what);
    return 0;
}

static int file_begin(struct kernel_sink *sink, const char *path, size_t len, struct error *error)
{
    struct delivery *delivery = delivery_of(sink);

    return on_file(delivery, guest_store_file_begin(&delivery->guest->store, path, len, error));
}

static int file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error)
{
    struct delivery *delivery = delivery_of(sink);

    return on_file(delivery, guest_store_file_put(&delivery->guest->store, p, size, error));
}

static int file_end(struct kernel_sink *sink, struct error *error)
{
    return guest_store_file_end(&delivery_of(sink)->guest->store, error);
}

static int fact(struct kernel_sink *sink, const char *name, const char *value, struct error *error)
{
    const struct delivery *delivery = delivery_of(sink);
    struct guest *guest = delivery->guest;
    struct guest_boot *boot = guest_boot(guest);
    const struct {
        const char *name;
        char *to;
        size_t size;
    } facts[] = {
        {"agent", boot->agent, sizeof boot->agent},
        {"release", boot->release, sizeof boot->release},
        {"machine", boot->machine, sizeof boot->machine},
        {"boot_id", boot->boot_id, sizeof boot->boot_id},
        {"clock", boot->clock, sizeof boot->clock},
    };

    (void)error;
    for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
        if (strcmp(facts[i].name, name) == 0)
            snprintf(facts[i].to, facts[i].size, "%s", value);
    if (strcmp(name, "clock") == 0) {
        char what[400];

        guest_clock_begin(guest, what, sizeof what);
        warn(guest, what);
    } else if (strcmp(name, "hz") == 0) {
        boot->hz = strtoull(value, NULL, 10);
    } else if (strcmp(name, "pid_filter") == 0) {
        boot->states_pid_filter = true;
        boot->pid_filter |= strcmp(value, "0") != 0;
    } else if (strcmp(name, "problem") == 0) {
        on_problem(guest, value);
    } else if (strcmp(name, "loss") == 0) {
        boot->lost_uncounted = true;
        on_problem(guest, value);
    }
    return 0;
}

static int pair(struct kernel_sink *sink, const struct guest_pair *pair, struct error *error)
{
    struct guest *guest = delivery_of(sink)->guest;
    const struct guest_pair copy =
        *pair; /* of a packet: its room is used again if the guest's child has ended */
    char what[200];
    int r;

    if (guest->read_machine)
        guest->read_machine(guest->machine);
    if (guest->ended)
        return 0;
    r = guest_clock_pair(guest, &copy, guest_pause_pair, what, sizeof what);
    warn(guest, what);
    return r < 0 ? error_set(error, r, NULL, "cannot write its pairs of clocks: %s", error_text(r))
                 : r;
}

void guest_read_kvm(struct guest *guest, uint64_t now)
{
    char what[200];
    int r = guest_clock_step(guest, now, guest_pause_pair, what, sizeof what);

    warn(guest, what);
    if (r < 0) {
        snprintf(what, sizeof what, "cannot write its pairs of clocks: %s", error_text(r));
        guest_end(guest, r, what);
    }
}

static int boot(struct kernel_sink *sink, struct error *error)
{
    const struct delivery *delivery = delivery_of(sink);

    return guest_reboot(delivery->guest, error);
}

static int rewind_boot(struct kernel_sink *sink, struct error *error)
{
    const struct delivery *delivery = delivery_of(sink);

    return guest_rewind(delivery->guest, error);
}

/* Pages do not come this way: the child writes them into files that it is given. */
static const struct kernel_sink_ops delivery_ops = {
    .file_begin = file_begin,
    .file_put = file_put,
    .file_end = file_end,
    .fact = fact,
    .pair = pair,
    .boot = boot,
    .rewind = rewind_boot,
};

/* ---- Packets ---- */

static int on_packet(struct guest *guest, struct guest_packet *packet, uint64_t now,
                     struct error *error)
{
    struct delivery delivery = {{&delivery_ops, NULL}, guest};
    char what[100];

    switch (packet->head.kind) {
    case PACKET_OPEN_PAGES: return on_open_pages(guest, packet->head.cpu, error);
    case PACKET_PROGRESS: return on_progress(guest, packet);
    case PACKET_DISCONNECTED:
        /* Of a connection that it had before: the next one is being made. */
        if (guest->connection != CONNECTION_GIVEN)
            return 0;
        snprintf(what, sizeof what, "%s%s%s",
                 guest->progress.said_bye ? "the agent has exited, and has sent all that it had"
                 : guest->progress.ran    ? "the connection is lost"
                                          : "the connection did not lead to an agent",
                 packet->head.error < 0 ? ": " : "",
                 packet->head.error < 0 ? error_text(packet->head.error) : "");
        /* While an agent exits, its address still accepts connections, and then refuses them. */
        if (!guest->is_exit_reported)
            guest_report(guest, what);
        guest->is_exit_reported = guest->is_wait_reported = guest->progress.said_bye;
        if (guest->was_running && !guest->progress.said_bye)
            guest->lost_at = guest->closed_at ? guest->closed_at : now;
        guest->written &= !guest->was_running;
        guest->lost_error = packet->head.error;
        guest->was_running = false;
        guest->connection = CONNECTION_AWAY;
        guest->retries = MAX(guest->retries, 1u);
        guest->retry_at = now + RETRY_FIRST;
        return 0;
    case PACKET_FLUSHED: /* later than what it stands for, as the child writes that itself */
        guest->flushed = MAX(guest->flushed, MIN(packet->head.offset, guest->flush_asked));
        return 0;
    case PACKET_END:
        packet->bytes[MIN(packet->head.size, sizeof packet->bytes - 1)] = 0;
        guest_end(guest, packet->head.error, (const char *)packet->bytes);
        return 0;
    default: return guest_packet_deliver(packet, &delivery.sink, error);
    }
}

/* Of a child that exited without PACKET_END. */
static void reap_child(struct guest *guest)
{
    char what[200] = "the process that parses its data exited unexpectedly";
    int status = 0;

    if (guest->pid > 0)
        kill(guest->pid, SIGKILL);
    while (guest->pid > 0 && waitpid(guest->pid, &status, 0) < 0 && errno == EINTR)
        ;
    guest->pid = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        snprintf(
            what, sizeof what,
            "the process that parses its data was killed by signal %d (%s), probably by malformed "
            "data from the %s",
            WTERMSIG(status), strsignal(WTERMSIG(status)),
            guest->config.is_host ? "agent" : "guest");
    guest_end(guest, -ECHILD, what);
}

void guest_read_messages(struct guest *guest, uint64_t now)
{
    static struct guest_packet packet; /* this process has one thread */
    struct error error = {0};
    char what[200];

    for (unsigned i = 0; i < PACKETS_AT_ONCE && !guest->ended; i++) {
        int r = guest_packet_receive(guest->channel, &packet, NULL, NULL);

        if (r == -EAGAIN)
            return;
        if (r == 0) {
            reap_child(guest);
            return;
        }
        if (r > 0)
            r = on_packet(guest, &packet, now, &error);
        if (r < 0) {
            error_set(&error, r, NULL, "%s", error_text(r));
            error_print(&error, what, sizeof what);
            guest_end(guest, r, what);
        }
    }
}

void guest_read_last_messages(struct guest *guest)
{
    for (unsigned i = 0; i < LAST_READS_MAX && !guest->ended; i++)
        guest_read_messages(guest, clock_ns(CLOCK_MONOTONIC));
    if (!guest->ended)
        reap_child(guest);
}
