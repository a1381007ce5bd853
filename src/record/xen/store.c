/* SPDX-License-Identifier: MIT */
#include "record/xen/store.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock_ns.h"

#define PAYLOAD_MAX 4096
#define TIMEOUT_MS 1000

enum message_type {
    STORE_DIRECTORY = 1,
    STORE_READ = 2,
    STORE_WATCH = 4,
    STORE_WATCH_EVENT = 15,
    STORE_ERROR = 16,
};

struct header {
    uint32_t type, request, transaction, length;
};

struct xen_store {
    int fd; /* -1: it has failed, and is not used any more */
    bool changed;
    uint32_t request; /* the last one's number */
    /* What has come of the message that is being read. */
    size_t have;
    union {
        struct header header;
        char bytes[sizeof(struct header) + PAYLOAD_MAX + 1];
    } in;
};

/* ---- Messages ---- */

static int64_t now_ms(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

static int failed(struct xen_store *store, int error)
{
    close(store->fd);
    store->fd = -1;
    return error;
}

/* Until EVENTS can be done, or UNTIL has come. */
static int wait_for(struct xen_store *store, short events, int64_t until)
{
    for (;;) {
        struct pollfd p = {store->fd, events, 0};
        int64_t left = until - now_ms();
        int r = left > 0 ? poll(&p, 1, (int)left) : 0;

        if (r > 0)
            return 0;
        if (r == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

/* Reads more of the incoming message. Returns 1: it is complete; 0: no more data for now. */
static int read_some(struct xen_store *store)
{
    for (;;) {
        size_t size = sizeof(struct header);
        ssize_t n;

        if (store->have >= size) {
            if (store->in.header.length > PAYLOAD_MAX)
                return -EBADMSG;
            size += store->in.header.length;
            if (store->have == size) {
                store->in.bytes[size] = 0;
                return 1;
            }
        }
        n = read(store->fd, store->in.bytes + store->have, size - store->have);
        if (n > 0)
            store->have += (size_t)n;
        else if (n == 0)
            return -EPIPE;
        else if (errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return -errno;
    }
}

/* Forgets the message that was read. A watch's event was all that there is to know of it. */
static uint32_t take_message(struct xen_store *store)
{
    store->have = 0;
    if (store->in.header.type == STORE_WATCH_EVENT)
        store->changed = true;
    return store->in.header.type;
}

static int write_all(struct xen_store *store, const char *p, size_t size, int64_t until)
{
    while (size > 0) {
        ssize_t n = write(store->fd, p, size);

        if (n < 0 && errno == EAGAIN) {
            int r = wait_for(store, POLLOUT, until);

            if (r < 0)
                return r;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Sends a request and waits for the answer: *RET_LENGTH bytes at *RET, valid until the next call, with a NUL after
 * them. -ENOENT or another error from xenstored. */
static int ask(struct xen_store *store, enum message_type type, const char *payload, size_t length,
               const char **ret, size_t *ret_length)
{
    char message[sizeof(struct header) + 256];
    struct header header = {(uint32_t)type, ++store->request, 0, (uint32_t)length};
    int64_t until = now_ms() + TIMEOUT_MS;
    int r;

    if (store->fd < 0)
        return -ENOTCONN;
    if (length > sizeof message - sizeof header)
        return -ENAMETOOLONG;
    memcpy(message, &header, sizeof header);
    memcpy(message + sizeof header, payload, length);
    r = write_all(store, message, sizeof header + length, until);
    while (r >= 0) {
        uint32_t answer, request;

        r = read_some(store);
        if (r == 0) {
            r = wait_for(store, POLLIN, until);
            continue;
        }
        if (r < 0)
            break;
        request = store->in.header.request;
        answer = take_message(store);
        if (answer == STORE_WATCH_EVENT || request != store->request)
            continue;
        if (answer == STORE_ERROR)
            return -ENOENT;
        if (answer != (uint32_t)type)
            return failed(store, -EBADMSG);
        *ret = store->in.bytes + sizeof header;
        *ret_length = store->in.header.length;
        return 0;
    }
    return failed(store, r);
}

/* ---- Connecting ---- */

static int connect_socket(const char *path)
{
    struct sockaddr_un address;
    int fd, r = unix_address(path, &address);

    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -ENOENT;
    }
    return fd;
}

static int watch(struct xen_store *store, const char *path)
{
    char payload[64];
    const char *answer;
    size_t length;
    int len = snprintf(payload, sizeof payload, "%s%cstrata", path, 0);

    return ask(store, STORE_WATCH, payload, (size_t)len + 1, &answer, &length);
}

int xen_store_open(struct xen_store **ret)
{
    struct xen_store *store;
    int r;
    int fd = connect_socket("/run/xenstored/socket");

    if (fd < 0)
        fd = connect_socket("/var/run/xenstored/socket");
    if (fd < 0)
        return -ENOENT;
    store = calloc(1, sizeof *store);
    if (!store) {
        close(fd);
        return -ENOMEM;
    }
    store->fd = fd;
    r = watch(store, "@introduceDomain");
    if (r >= 0)
        r = watch(store, "@releaseDomain");
    if (r < 0) {
        xen_store_free(store);
        return r;
    }
    *ret = store;
    return 0;
}

void xen_store_free(struct xen_store *store)
{
    if (!store)
        return;
    if (store->fd >= 0)
        close(store->fd);
    free(store);
}

/* ---- Domains ---- */

bool xen_store_changed(struct xen_store *store)
{
    int r = 1;

    while (store->fd >= 0 && r > 0) {
        r = read_some(store);
        if (r > 0)
            take_message(store);
        else if (r < 0)
            failed(store, r);
    }
    return store->changed;
}

static int one_domain(struct xen_store *store, const char *entry,
                      int (*function)(void *userdata, uint32_t id, const char *name),
                      void *userdata)
{
    char path[64];
    const char *name;
    size_t length;
    char *end;
    unsigned long id = strtoul(entry, &end, 10);
    int len = snprintf(path, sizeof path, "/local/domain/%lu/name", id);
    int r;

    if (*entry < '0' || *entry > '9' || *end || id > UINT16_MAX)
        return 0;
    r = ask(store, STORE_READ, path, (size_t)len + 1, &name, &length);
    if (r < 0 && r != -ENOENT)
        return r;
    return function(userdata, (uint32_t)id, r < 0 ? "" : name);
}

int xen_store_domains(struct xen_store *store,
                      int (*function)(void *userdata, uint32_t id, const char *name),
                      void *userdata)
{
    static const char path[] = "/local/domain";
    char entries[PAYLOAD_MAX + 1];
    const char *answer;
    size_t length;
    int r;

    store->changed = false;
    r = ask(store, STORE_DIRECTORY, path, sizeof path, &answer, &length);
    if (r < 0)
        return r;
    memcpy(entries, answer, length);
    entries[length] = 0;
    for (size_t at = 0; at < length && r >= 0; at += strlen(entries + at) + 1)
        r = one_domain(store, entries + at, function, userdata);
    return r;
}
