/* SPDX-License-Identifier: MIT */
/* The connections to the agents: made, made again, and given up. */
#include <arpa/inet.h>
#include <linux/vm_sockets.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_internal.h"

#define RETRY_MAX NSEC_PER_SEC
#define CONNECT_TIMEOUT (10 * NSEC_PER_SEC)
/* After all were stopped, for a guest whose child reports that it goes on. The child itself gives up earlier. */
#define STOP_MAX (90 * NSEC_PER_SEC)

static int give_connection(struct guest *guest, const int *fds, unsigned n)
{
    const struct guest_packet_head head = {.kind = PACKET_CONNECTION};
    int r = guest_packet_send_to_child(guest->channel, &head, fds, n);

    for (unsigned i = 0; i < n; i++)
        close(fds[i]);
    guest->connection = CONNECTION_GIVEN;
    guest->is_wait_reported = false;
    return r;
}

/* What to do in a guest whose agent is not there; "": the host's end may be what is missing. */
static const char *describe_start(const struct guest_endpoint *endpoint, char *buf, size_t size)
{
    struct sockaddr_vm vsock;
    struct sockaddr_in tcp; /* an IPv6 address has its port at the same place */

    *buf = '\0';
    memcpy(&vsock, &endpoint->address, sizeof vsock);
    memcpy(&tcp, &endpoint->address, sizeof tcp);
    if (endpoint->kind == ENDPOINT_VSOCK)
        snprintf(buf, size, "; in the guest, start: strata-agent --listen=vsock:%u --key=FILE",
                 vsock.svm_port);
    else if (endpoint->kind == ENDPOINT_TCP)
        snprintf(buf, size,
                 "; in the guest, start: strata-agent --listen=tcp:ADDRESS:%u --key=FILE",
                 ntohs(tcp.sin_port));
    return buf;
}

static void retry_later(struct guest *guest, int error, uint64_t now)
{
    char what[300], start[100];
    uint64_t wait = RETRY_FIRST << MIN(guest->retries, 8u);

    guest->connection = CONNECTION_AWAY;
    guest->retries++;
    guest->retry_at = now + MIN(wait, RETRY_MAX);
    if (guest->is_wait_reported)
        return;
    guest->is_wait_reported = true;
    snprintf(what, sizeof what, "waiting for %s: %s%s", guest->config.endpoint.text,
             strerror(-error), describe_start(&guest->config.endpoint, start, sizeof start));
    guest_report(guest, what);
}

static int connect_it(struct guest *guest, uint64_t now)
{
    char what[120] = "the agent exited unexpectedly";
    bool pending;
    int fds[2];
    unsigned n;
    int r = guest_endpoint_connect(&guest->config.endpoint, fds, &n, &pending, NULL);

    guest->peer = r < 0 ? 0 : guest_endpoint_peer(&guest->config.endpoint, fds[0]);
    if (r == -ENOTCONN) {
        if (guest->lost_error < 0)
            snprintf(what, sizeof what, "the connection with the agent is lost: %s",
                     error_text(guest->lost_error));
        guest_end(guest, r, what);
        return 0;
    }
    if (r < 0) {
        retry_later(guest, r, now);
        return 0;
    }
    if (!pending)
        return give_connection(guest, fds, n);
    guest->connection = CONNECTION_PENDING;
    guest->proto_fd = fds[0];
    guest->retry_at = now + CONNECT_TIMEOUT;
    return 0;
}

int guest_connected(struct guest *guest, uint64_t now)
{
    int r = guest_endpoint_result(guest->proto_fd);

    if (r == 0)
        return give_connection(guest, &guest->proto_fd, 1);
    close(guest->proto_fd);
    retry_later(guest, r, now);
    return 0;
}

/* Whether GUEST, when all are stopped, did not find its agent again in time. That it has a connection does not count: QEMU's
 * socket accepts one whether or not an agent has opened the port. */
static bool is_too_late(const struct guest *guest, uint64_t now)
{
    return guest->stopping && !guest->ended && !guest->progress.said_bye &&
           now >= guest->stop_by + (guest->was_running ? STOP_MAX : 0);
}

uint64_t guest_next_retry(const struct guest *guest)
{
    uint64_t next = UINT64_MAX;

    if (is_too_late(guest, guest->stop_by))
        next = guest->stop_by;
    if (!guest->ended && guest->connection != CONNECTION_GIVEN)
        next = MIN(next, guest->retry_at);
    return next;
}

void guest_reconnect(struct guest *guest, uint64_t now)
{
    int r = 0;

    if (guest->stopping && guest->progress.said_bye)
        guest_end(guest, 0, "");
    if (is_too_late(guest, now))
        guest_end(guest, -ENOTCONN,
                  guest->was_running ? "the agent did not send the rest in time"
                  : guest->n_boots > 1 || guest->progress.bytes
                      ? "the connection was lost, and what the agent had left is missing"
                  : *guest_boot(guest)->boot_id ? GUEST_NOT_TRACED
                                                : GUEST_NO_AGENT);
    if (guest->ended || guest->connection == CONNECTION_GIVEN || now < guest->retry_at)
        return;
    if (guest->connection == CONNECTION_PENDING) {
        close(guest->proto_fd);
        retry_later(guest, -ETIMEDOUT, now);
    } else {
        r = connect_it(guest, now);
    }
    if (r < 0)
        guest_read_last_messages(guest);
}
