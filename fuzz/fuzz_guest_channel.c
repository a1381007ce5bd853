/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <ftw.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "bytes.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_channel.h"
#include "record/kernel/guest_clock.h"
#include "record/kernel/guest_internal.h"
#include "record/kernel/guest_manifest.h"

/* The collector with the packets of a confined process that a guest has taken over. The first byte selects whether
 * the collector keeps files (bit 0); then come steps:
 *
 *   0…13  a packet of that kind: u8 CPU (255: 2^32 - 1), u8 error (signed), u16 length, bytes
 *   14    any bytes: u16 length, bytes
 *   15    the same with a descriptor
 *   16    a packet of progress of the right size: u8 length, bytes; the rest is 0
 *   17    a pair of clock readings, the same way
 *   18    the collector has given the guest a connection
 *   19    pages, which no child sends to the collector: u8 CPU, u16 length, bytes
 */
#define N_STEPS 20u
/* The lines that the collector prints at once about a guest, one more for each ten seconds of a run, and what it prints
 * at the end. */
#define MESSAGES_MAX 80u

#define HEAD offsetof(struct guest_packet, bytes)

static unsigned n_messages;

static void count_message(void *userdata, const char *guest, const char *what)
{
    (void)userdata;
    (void)guest;
    (void)what;
    n_messages++;
}

/* Whether PATH lies in the directory of the guest, by a check that is not the collector's. What that check would
 * not refuse is not written by this program, which may run as root. */
static bool is_inside(const uint8_t *path, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t c = path[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '_' && c != '-' && c != '/')
            return false;
    }
    return len > 0 && path[0] != '/';
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Reads what the collector has answered, which is valid. */
static void read_answers(int channel)
{
    static struct guest_packet packet;
    int fds[2], r;
    unsigned n;

    while ((r = guest_packet_receive(channel, &packet, fds, &n)) > 0) {
        if (packet.head.kind != PACKET_FILE || n > 1 || (n == 1) != (packet.head.error == 0))
            abort();
        if (n == 1)
            close(fds[0]);
    }
    if (r == -EBADMSG)
        abort();
}

static void send_bytes(int channel, const void *p, size_t size, bool with_descriptor)
{
    struct iovec iov = {(void *)(uintptr_t)p, size};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

    if (with_descriptor) {
        struct cmsghdr *cmsg;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &channel, sizeof channel);
    }
    (void)sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static size_t take_bytes(struct bytes *bytes, unsigned width, uint8_t *buf, size_t max)
{
    size_t size = take(bytes, width);

    size = MIN(MIN(size, max), (size_t)(bytes->end - bytes->next));
    memcpy(buf, bytes->next, size);
    bytes->next += size;
    return size;
}

static void send_step(struct bytes *bytes, struct guest *guest, int channel)
{
    static uint8_t any[GUEST_PACKET_MAX + 64];
    static struct guest_packet packet;
    unsigned step = take(bytes, 1) % N_STEPS;
    uint32_t size =
        step == 16 ? (uint32_t)sizeof(struct guest_progress) : (uint32_t)sizeof(struct guest_pair);

    if (step == 18) {
        guest->connection = CONNECTION_GIVEN;
        return;
    }
    if (step == 14 || step == 15) {
        send_bytes(channel, any, take_bytes(bytes, 2, any, sizeof any), step == 15);
        return;
    }
    memset(packet.bytes, 0, 256);
    packet.head = (struct guest_packet_head){.kind = step};
    if (step <= 13 || step == 19) {
        packet.head.cpu = take(bytes, 1);
        packet.head.cpu = packet.head.cpu == 255 ? UINT32_MAX : packet.head.cpu;
        packet.head.error = step <= 13 ? (int8_t)take(bytes, 1) : 0;
        packet.head.size = (uint32_t)take_bytes(bytes, 2, packet.bytes, sizeof packet.bytes);
    } else {
        take_bytes(bytes, 1, packet.bytes, size);
        packet.head.size = size;
    }
    if (step > 13)
        packet.head.kind = step == 16 ? PACKET_PROGRESS : step == 17 ? PACKET_PAIR : PACKET_PAGES;
    if (guest->store.parent >= 0 && packet.head.kind == PACKET_FILE_BEGIN &&
        !is_inside(packet.bytes, packet.head.size))
        return;
    send_bytes(channel, &packet, HEAD + packet.head.size, false);
}

static void check_guest(const struct guest *guest)
{
    const struct guest_store *store = &guest->store;

    if (store->is_open && !is_inside((const uint8_t *)store->path, strlen(store->path)))
        abort();
    if (store->n_boots > GUEST_BOOTS_MAX || guest->n_boots > GUEST_BOOTS_MAX ||
        guest->progress.state > GUEST_OVER || guest->progress.n_cpus > PROTO_CPUS_MAX ||
        n_messages > MESSAGES_MAX)
        abort();
}

/* What the collector writes of the guest, a reader accepts. */
static void check_manifest(const struct guest *guest)
{
    struct manifest written = {0}, read;
    struct text text = TEXT_IN_MEMORY;
    struct manifest_source *sources;
    struct error error = {0};

    if (guest_put_sources(guest, true, GUEST_SILENT_WITHOUT_EVENTS, &written.arena, &sources,
                          &written.n_sources) < 0)
        abort();
    written.sources = sources;
    if (manifest_put(&written, "written", &text, &error) < 0)
        abort();
    if (manifest_parse(text.start, text_len(&text), "read", &read, &error) < 0)
        abort();
    manifest_done(&read);
    manifest_done(&written);
    text_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, data + size};
    char path[] = "/tmp/strata-fuzz-guest-XXXXXX";
    bool keeps = take(&bytes, 1) & 1;
    static const struct trace_config no_events;
    struct guest guest = {.config = {.name = "g", .trace = &no_events, .endpoint = {.fd = -1}},
                          .channel = -1,
                          .connection = CONNECTION_GIVEN,
                          .live.fd = -1,
                          .virtio.control = {.in = -1, .out = -1},
                          .messages_left = GUEST_MESSAGES_MAX,
                          .report = count_message};
    int ends[2], dir = -1;

    n_messages = 0;
    if (keeps && (!mkdtemp(path) || (dir = open(path, O_RDONLY | O_DIRECTORY)) < 0))
        abort();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0 ||
        guest_store_open(dir, GUEST_PREFIX, guest.config.name, &guest.store, NULL) < 0 ||
        guest_boot_begin(&guest) < 0 || guest_make_first_file(&guest, NULL) < 0)
        abort();
    guest.channel = ends[0];
    while (bytes.next < bytes.end && !guest.ended) {
        send_step(&bytes, &guest, ends[1]);
        guest_read_messages(&guest, UINT64_C(1000000000));
        read_answers(ends[1]);
        check_guest(&guest);
    }
    guest_end_early(&guest);
    check_guest(&guest);
    check_manifest(&guest);
    guest_boots_done(&guest);
    guest_clock_done(&guest);
    guest_store_done(&guest.store);
    close(ends[1]);
    if (keeps) {
        close(dir);
        if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0)
            abort();
    }
    return 0;
}
