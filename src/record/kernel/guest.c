/* SPDX-License-Identifier: MIT */
/* Recording a guest: what is polled for, what is done then, and how it ends. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macro.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_clock.h"
#include "record/kernel/guest_internal.h"

/* For a guest without a connection to come back, after all were stopped. */
#define STOP_TIMEOUT (5 * NSEC_PER_SEC)
/* If this process wakes so much later than it meant to, it was stopped or the machine is overloaded. The agents are given
 * that time as well. */
#define DELAY_MIN NSEC_PER_SEC
/* For the live view to read the rest of a virtio-trace guest, as long as it reads nothing. */
#define SHOW_TIMEOUT_MS 500
/* How often what is queued for the live view is sent, of a virtio-trace guest. */
#define FLUSH_INTERVAL (NSEC_PER_SEC / 20)
/* From then on one more message about a guest may be printed. */
#define MESSAGE_INTERVAL (10 * NSEC_PER_SEC)
/* What a child may write beyond its limit before it is killed: its files are looked at twice a second. */
#define SIZE_SLACK (UINT64_C(64) << 20)

static void print_unprinted(struct guest *guest)
{
    char what[80];

    if (guest->unprinted == 0)
        return;
    snprintf(what, sizeof what, "%" PRIu64 " more messages about it were not printed",
             guest->unprinted);
    guest->unprinted = 0;
    guest->report(guest->userdata, guest->config.name, what);
}

/* At the end: how many messages were not printed. */
static void print_rest(struct guest *guest)
{
    uint64_t unreported = 0;
    char what[80];

    if (!guest->report)
        return;
    print_unprinted(guest);
    for (unsigned i = 0; i < guest->n_boots; i++)
        unreported += guest->boots[i].unreported;
    if (unreported == 0)
        return;
    snprintf(what, sizeof what, GUEST_REPORTED_MORE, unreported);
    guest->report(guest->userdata, guest->config.name, what);
}

void guest_report(struct guest *guest, const char *what)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (!guest->report)
        return;
    if (guest->messages_left < GUEST_MESSAGES_MAX && now >= guest->messages_next) {
        guest->messages_left++;
        guest->messages_next = now + MESSAGE_INTERVAL;
    }
    if (guest->messages_left == 0) {
        guest->unprinted++;
        return;
    }
    guest->messages_left--;
    print_unprinted(guest);
    guest->report(guest->userdata, guest->config.name, what);
}

bool guest_missing_pages(const struct guest_progress *progress, char *buf, size_t size)
{
    if (progress->full && progress->gaps > 0)
        snprintf(buf, size,
                 "--max-size is reached: %" PRIu64
                 " pages that had arrived, and all later events, are not in the trace",
                 progress->gaps);
    else if (progress->full)
        snprintf(buf, size, "--max-size is reached: later events are not in the trace");
    else
        snprintf(buf, size, "%" PRIu64 " page%s lost on the way from the agent", progress->gaps,
                 progress->gaps == 1 ? " was" : "s were");
    return progress->full || progress->gaps > 0;
}

/* Somebody who forgot the agent is told while the machine runs, not at its end. */
static void give_hint(struct guest *guest, uint64_t now)
{
    if (guest->hint_at == 0 || now < guest->hint_at)
        return;
    guest->hint_at = 0;
    if (!guest->ended && !guest->stopping && guest_is_silent(guest) && guest->hint &&
        !guest->is_wait_reported && !*guest_boot(guest)->boot_id)
        guest->hint(guest->userdata, guest->config.name,
                    guest_endpoint_is_taken(&guest->config.endpoint)
                        ? GUEST_TAKEN
                        : "no agent has answered yet; the guest's kernel is recorded from when "
                          "strata-agent starts in the guest (man 8 strata-agent)");
}

void guest_end(struct guest *guest, int error, const char *what)
{
    char missing[160];

    if (guest->ended)
        return;
    if (strcmp(what, GUEST_NO_AGENT) == 0 && guest->is_taken)
        what = GUEST_TAKEN;
    guest->ended = true;
    guest->error = error;
    snprintf(guest->what, sizeof guest->what, "%s", what);
    guest_pause_end(guest);
    guest_boot_end(guest);
    if (error < 0)
        guest_boot_problem(guest, what);
    if (guest_missing_pages(&guest->progress, missing, sizeof missing))
        guest_boot_lost(guest, missing);
    if (guest->connection == CONNECTION_PENDING)
        close(guest->proto_fd);
    guest->connection = CONNECTION_AWAY;
    if (guest->config.endpoint.kind == ENDPOINT_FD && guest->config.endpoint.fd >= 0)
        close(guest->config.endpoint.fd);
    guest->config.endpoint.fd = -1;
    live_stream_drain(&guest->live, SHOW_TIMEOUT_MS);
    guest->progress.unshown += guest->live.unshown;
    live_stream_done(&guest->live);
    if (guest->channel >= 0)
        close(guest->channel);
    guest->channel = -1;
    if (guest->pid > 0) {
        int status = 0;

        /* It exits by itself, or is not to be trusted. */
        kill(guest->pid, SIGKILL);
        while (waitpid(guest->pid, &status, 0) < 0 && errno == EINTR)
            ;
        guest->pid = 0;
    }
}

/* A child may be under the control of its guest: its limit is checked from outside. */
static void check_size(struct guest *guest, uint64_t now)
{
    if (now < guest->size_next || guest->trace.max_size == 0)
        return;
    guest->size_next = now + NSEC_PER_SEC / 2;
    if (!guest->ended && guest_store_size(&guest->store) > guest->trace.max_size + SIZE_SLACK)
        guest_end(guest, -EFBIG, "its process wrote more than --max-size allows");
}

/* The virtio-trace protocol: pages as they come, no counts, and no end but that nothing more comes. */
static void step_virtio_trace(struct guest *guest, const struct pollfd *fds, uint64_t now)
{
    struct error error = {0};
    int r = virtio_trace_guest_read(&guest->virtio, fds, &guest->store.sink, now, &error);

    guest->progress.bytes = guest->virtio.bytes;
    guest->progress.full = guest->virtio.full;
    guest->progress.n_cpus = guest->virtio.n;
    live_stream_flush(&guest->live);
    if (guest->virtio.full)
        virtio_trace_guest_stop(&guest->virtio, now);
    if (r < 0)
        guest_end(guest, r, error.what);
    else if (virtio_trace_guest_has_ended(&guest->virtio, now) && !guest->virtio.stopped)
        guest_end(guest, -ENOTCONN, "all its ports were closed");
    else if (virtio_trace_guest_has_ended(&guest->virtio, now))
        guest_end(guest, guest->virtio.bytes ? 0 : -ENODATA,
                  guest->virtio.bytes
                      ? ""
                      : "no data came from its ports: start the agent in the guest, "
                        "and check that these are the ports that it writes to");
}

/* When a virtio-trace guest has something to do although nothing came. */
static uint64_t virtio_trace_due_at(const struct guest *guest, uint64_t now)
{
    uint64_t due = virtio_trace_guest_ends_at(&guest->virtio);

    return live_stream_has_queued(&guest->live) ? MIN(due, now + FLUSH_INTERVAL) : due;
}

void guest_poll(struct guest *guest, struct recorder_wait *wait, uint64_t now)
{
    uint64_t until;

    if (guest->stopping && guest->wake_by && now > guest->wake_by + DELAY_MIN)
        guest->stop_by += now - guest->wake_by;
    guest_reconnect(guest, now);
    if (guest->ended) {
        recorder_wait_until(wait, 0);
        return;
    }
    until = MIN(guest_next_retry(guest), guest_clock_due(guest));
    if (guest->config.virtio_trace) {
        virtio_trace_guest_poll(&guest->virtio, wait);
        until = MIN(until, virtio_trace_due_at(guest, now));
    } else {
        recorder_wait_fd(wait, guest->channel, POLLIN);
        recorder_wait_fd(wait, guest->connection == CONNECTION_PENDING ? guest->proto_fd : -1,
                         POLLOUT);
    }
    if (guest->trace.max_size)
        until = MIN(until, guest->size_next);
    if (guest->hint_at)
        until = MIN(until, guest->hint_at);
    guest->wake_by = until == UINT64_MAX ? 0 : until;
    recorder_wait_until(wait, until);
}

int guest_serve(struct guest *guest, const struct pollfd *fds, uint64_t now)
{
    if (guest->config.virtio_trace) {
        step_virtio_trace(guest, fds, now);
    } else {
        if (fds[0].revents)
            guest_read_messages(guest, now);
        if (fds[1].revents && guest->connection == CONNECTION_PENDING &&
            guest_connected(guest, now) < 0)
            guest_read_last_messages(guest);
    }
    check_size(guest, now);
    guest_read_kvm(guest, now);
    give_hint(guest, now);
    return !guest->ended;
}

bool guest_is_connected(const struct guest *guest)
{
    return !guest->ended && guest->connection == CONNECTION_GIVEN;
}

void guest_stop(struct guest *guest)
{
    const struct guest_packet_head stop = {.kind = PACKET_STOP};
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (guest->stopping)
        return;
    guest->stopping = true;
    guest->stop_by = now + STOP_TIMEOUT;
    guest->is_taken = guest_is_silent(guest) && guest_endpoint_is_taken(&guest->config.endpoint);
    if (guest->config.virtio_trace)
        virtio_trace_guest_stop(&guest->virtio, now);
    else if (!guest->ended && guest_packet_send_to_child(guest->channel, &stop, NULL, 0) < 0)
        guest_read_last_messages(guest);
}

void guest_flush(struct guest *guest)
{
    struct guest_packet_head flush = {.kind = PACKET_FLUSH, .offset = guest->flush_asked + 1};

    if (guest->ended || guest->config.virtio_trace)
        return;
    guest->flush_asked++;
    if (guest_packet_send_to_child(guest->channel, &flush, NULL, 0) < 0)
        guest_read_last_messages(guest);
}

bool guest_is_flushed(const struct guest *guest)
{
    return guest->ended || guest->flushed >= guest->flush_asked;
}

bool guest_is_away(const struct guest *guest)
{
    return guest->was_traced && !guest->was_running && !guest->ended;
}

bool guest_loss_text(const struct guest *guest, uint64_t now, char *buf, size_t size)
{
    if (guest->lost_at == 0)
        return false;
    snprintf(buf, size,
             "the guest's agent %s %.1f seconds before the recording of the guest ended: nothing "
             "of the guest is recorded after that; what the agent had not sent is lost",
             guest->closed_at ? "ended unexpectedly" : "stopped answering",
             (double)(now - MIN(guest->lost_at, now)) / (double)NSEC_PER_SEC);
    return true;
}

bool guest_is_silent(const struct guest *guest)
{
    return guest->n_boots == 1 && !guest->was_running && guest->progress.bytes == 0 &&
           guest->store.n_files == 0;
}

void guest_end_because(struct guest *guest, const char *traced, const char *silent)
{
    bool spoke = !guest_is_silent(guest);

    if (guest->progress.said_bye)
        guest_end(guest, 0, "");
    else
        guest_end(guest, spoke ? -EINTR : -ENOTCONN, spoke ? traced : silent);
    print_rest(guest);
}

void guest_end_early(struct guest *guest)
{
    const char *what = guest->config.is_host
                           ? "was ended before the agent of the host's kernel had sent the rest"
                           : "was ended before the guest's agent had sent the rest";

    guest_end_because(guest, what, what);
}
