/* SPDX-License-Identifier: MIT */

/* A traced program that is killed, and knows what it had committed; and what checks its trace.
 *
 *     victim run COUNTERS THREADS SIGNALS PAUSE [SECONDS [abort]]
 *
 * Each thread emits events, which are numbered, without end (or for SECONDS), PAUSE microseconds after
 * each 64, and is interrupted every 200 us by a signal (SIGNALS = 1) whose handler emits too, and raises
 * another whose handler emits as well. All of these have counters of their own in the file COUNTERS, a
 * shared mapping: which outlives a kill.
 *
 *     victim check COUNTERS TRACE [unwritten]
 *
 * Every event that was acknowledged is in the native trace TRACE, or was dropped and counted: in its
 * order, with its values, once; the trace tells of as many lost ones. With `unwritten` some may be lost
 * that were committed, as the disk was full. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/trace.h"

#define THREADS_MAX 16
#define LEVELS 3 /* the thread, a handler, and one that interrupts it */
#define STREAMS (THREADS_MAX * LEVELS)

/* What one of them has done. An attempt is first decided, then done: of a kill in between `dropped`, or the
 * trace, may be one ahead. */
struct counter {
    uint64_t done;
    uint64_t dropped;
};

static struct counter *counters;

/* ---- The event ---- */

enum { TICK, TEXT, EVENTS };

static uint8_t states[EVENTS];
static const struct strata_field tick_fields[] = {
    {"stream", "uint32_t", STRATA_FIELD_UNSIGNED, 4},
    {"n", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"check", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};
static const struct strata_field text_fields[] = {
    {"stream", "uint32_t", STRATA_FIELD_UNSIGNED, 4},
    {"n", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"text", "const char *", STRATA_FIELD_STRING, 0},
};
static struct strata_event events[EVENTS] = {
    {.name = "victim_tick",
     .format = "stream %u n %" PRIu64 " check %" PRIx64,
     .fields = tick_fields,
     .state = &states[TICK],
     .file = "victim",
     .line = 1,
     .n_fields = 3,
     .compiled_in = true},
    {.name = "victim_text",
     .format = "stream %u n %" PRIu64 " text %s",
     .fields = text_fields,
     .state = &states[TEXT],
     .file = "victim",
     .line = 2,
     .n_fields = 3,
     .compiled_in = true},
};
static struct strata_group group = {STRATA_TRACE_ABI, EVENTS, "victim", events, NULL};

static uint64_t check_of(uint32_t stream, uint64_t n)
{
    return (n + 1) * 0x9e3779b97f4a7c15U ^ stream;
}

static const char letters[STRATA_STRING_MAX + 100] =
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";

static const char *text_of(uint32_t stream, uint64_t n)
{
    return letters + (n + stream) % 50;
}

static bool emit(uint32_t stream, uint64_t n)
{
    struct strata_slot slot;
    uint8_t *at;

    if (n % 3) {
        uint64_t check = check_of(stream, n);

        at = ring_open(&slot, events[TICK].id, 8 + 20);
        if (!at)
            return false;
        at = strata_ring_put(at, &stream, sizeof(stream));
        at = strata_ring_put(at, &n, sizeof(n));
        strata_ring_put(at, &check, sizeof(check));
    } else {
        const char *text = text_of(stream, n);

        at = ring_open(&slot, events[TEXT].id, 8 + 12 + 1);
        if (!at)
            return false;
        at = strata_ring_put(at, &stream, sizeof(stream));
        at = strata_ring_put(at, &n, sizeof(n));
        if (!ring_string(&slot, at, text))
            return false;
    }
    strata_ring_end(&slot);
    return true;
}

/* Only one of its level in a thread is ever at it. */
static void step(uint32_t stream)
{
    struct counter *counter = &counters[stream];
    uint64_t n = counter->done;

    if (!emit(stream, n))
        __atomic_store_n(&counter->dropped, counter->dropped + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&counter->done, n + 1, __ATOMIC_RELEASE);
}

/* ---- run ---- */

static __thread __attribute__((tls_model("initial-exec"))) uint32_t my_thread;
static unsigned pause_us, with_signals;

static void on_signal(int signal)
{
    int saved_errno = errno;
    unsigned level = signal == SIGUSR1 ? 1 : 2;

    for (unsigned i = 0; i < 3; i++) {
        step(my_thread * LEVELS + level);
        if (level == 1 && i == 1)
            pthread_kill(pthread_self(), SIGUSR2);
    }
    errno = saved_errno;
}

static void *run_thread(void *p)
{
    timer_t timer;
    struct sigevent to = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 200000}, {0, 200000}};

    my_thread = (uint32_t)(uintptr_t)p;
    if (with_signals) {
        to._sigev_un._tid = (pid_t)syscall(SYS_gettid);
        if (timer_create(CLOCK_MONOTONIC, &to, &timer) < 0 ||
            timer_settime(timer, 0, &often, NULL) < 0)
            abort();
    }
    for (uint64_t i = 1;; i++) {
        step(my_thread * LEVELS);
        if (pause_us && i % 64 == 0)
            nanosleep(&(struct timespec){.tv_nsec = pause_us * 1000L}, NULL);
    }
    return NULL;
}

static int map_counters(const char *path, bool make)
{
    /* It may have been killed before it had made them. */
    int fd = open(path, O_RDWR | O_CREAT | (make ? O_TRUNC : 0), 0600);
    void *p;

    if (fd < 0 || ftruncate(fd, STREAMS * sizeof(*counters)) < 0) {
        perror(path);
        return -1;
    }
    p = mmap(NULL, STREAMS * sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return -1;
    counters = p;
    return 0;
}

static int run(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    unsigned n_threads = (unsigned)atoi(argv[1]);
    double seconds = argc > 4 ? atof(argv[4]) : 0;

    with_signals = (unsigned)atoi(argv[2]);
    pause_us = (unsigned)atoi(argv[3]);
    if (n_threads < 1 || n_threads > THREADS_MAX || map_counters(argv[0], true) < 0)
        return 2;
    strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    for (unsigned i = 0; i < n_threads; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, run_thread, (void *)(uintptr_t)i) != 0)
            return 2;
    }
    if (seconds <= 0)
        for (;;)
            pause();
    nanosleep(&(struct timespec){.tv_sec = (time_t)seconds,
                                 .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)},
              NULL);
    /* However slow they are. */
    for (unsigned i = 0; i < n_threads; i++)
        while (__atomic_load_n(&counters[i * LEVELS].done, __ATOMIC_ACQUIRE) == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (argc > 5)
        abort();
    _exit(0);
}

/* ---- check ---- */

/* What the trace has of each. */
static struct {
    uint64_t
        next; /* no event before this may come any more in this file: handlers may have two rings */
    uint64_t most;  /* events up to this one are in any file */
    uint64_t found; /* events */
    uint8_t *bits;  /* which */
    uint64_t n_bits;
    char where[64]; /* the last one was seen: file and thread */
} seen[STREAMS];

static unsigned wrong;

static void __attribute__((format(printf, 1, 2))) bad(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (wrong++ < 10)
        vfprintf(stderr, format, args);
    va_end(args);
}

/* Which class of the metadata is which event. */
static int read_ids(const char *trace, uint32_t ids[EVENTS])
{
    char path[4096], line[4096];
    unsigned id = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/metadata", trace);
    f = fopen(path, "re");
    if (!f && errno == ENOENT)
        return 0; /* then there must not have been an event */
    if (!f) {
        perror(path);
        return -1;
    }
    while (fgets(line, sizeof(line), f)) {
        (void)sscanf(line, " id = %u;", &id);
        for (unsigned i = 0; i < EVENTS; i++)
            if (strstr(line, "name = \"") && strstr(line, events[i].name))
                ids[i] = id;
    }
    fclose(f);
    return 0;
}

struct packet {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t stream_id;
    uint64_t begin, end, content_size, packet_size, seq, discarded;
    uint32_t pid, tid;
    char name[16];
};

static void check_event(const char *path, const struct packet *packet, uint32_t stream, uint64_t n)
{
    if (stream >= STREAMS) {
        bad("%s: an event of stream %u\n", path, stream);
        return;
    }
    if (n < seen[stream].next)
        bad("%s: stream %u: %" PRIu64 " of thread %u comes behind %" PRIu64 " in %s\n", path,
            stream, n, packet->tid, seen[stream].next - 1, seen[stream].where);
    snprintf(seen[stream].where, sizeof(seen[stream].where), "%.40s of thread %u", path,
             packet->tid);
    seen[stream].next = n + 1;
    if (n + 1 > seen[stream].most)
        seen[stream].most = n + 1;
    if (n >= seen[stream].n_bits && n < counters[stream].done + 8) {
        uint64_t more = 2 * n + 1024;

        seen[stream].bits = realloc(seen[stream].bits, more / 8 + 1);
        memset(seen[stream].bits + seen[stream].n_bits / 8, 0,
               more / 8 + 1 - seen[stream].n_bits / 8);
        seen[stream].n_bits = more / 8 * 8 + 8;
    }
    if (n < seen[stream].n_bits) {
        if (seen[stream].bits[n / 8] >> n % 8 & 1)
            bad("%s: stream %u: %" PRIu64 " is there twice\n", path, stream, n);
        seen[stream].bits[n / 8] |= (uint8_t)(1U << n % 8);
    }
    seen[stream].found++;
}

/* Returns the bytes of the record at P, 0: it is none. */
static size_t check_record(const char *path, const struct packet *packet, const uint8_t *p,
                           size_t left, const uint32_t *ids)
{
    uint64_t n, check;
    uint32_t stream;
    uint16_t id;

    if (left < 8 + 12)
        return 0;
    memcpy(&id, p, 2);
    memcpy(&stream, p + 8, 4);
    memcpy(&n, p + 12, 8);
    check_event(path, packet, stream, n);
    if (id == ids[TICK] && left >= 28) {
        memcpy(&check, p + 20, 8);
        if (check != check_of(stream, n) || n % 3 == 0)
            bad("%s: stream %u: %" PRIu64 " has other values\n", path, stream, n);
        return 28;
    }
    if (id == ids[TEXT] && memchr(p + 20, 0, left - 20)) {
        if (strcmp((const char *)p + 20, text_of(stream, n)) != 0 || n % 3 != 0)
            bad("%s: stream %u: %" PRIu64 " has another text\n", path, stream, n);
        return 20 + strlen((const char *)p + 20) + 1;
    }
    return 0;
}

/* Returns how many events it tells to be lost. */
static uint64_t check_stream(const char *path, const uint32_t *ids)
{
    struct packet before = {0};
    int fd = open(path, O_RDONLY);
    uint64_t packets = 0;
    struct stat st;
    uint8_t *bytes;

    for (unsigned i = 0; i < STREAMS; i++)
        seen[i].next = 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return 0;
    if (st.st_size == 0) {
        close(fd);
        return 0;
    }
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    for (size_t at = 0; at < (size_t)st.st_size;) {
        struct packet packet;
        size_t end, r;

        if ((size_t)st.st_size - at < sizeof(packet)) {
            bad("%s: ends in a packet's header\n", path);
            break;
        }
        memcpy(&packet, bytes + at, sizeof(packet));
        if (packet.magic != 0xc1fc1fc1 || packet.packet_size / 8 > (size_t)st.st_size - at ||
            packet.content_size > packet.packet_size || packet.content_size / 8 < sizeof(packet)) {
            bad("%s: offset %zu: no packet\n", path, at);
            break;
        }
        if (packets++ && (packet.seq <= before.seq || packet.begin < before.end ||
                          packet.discarded < before.discarded))
            bad("%s: offset %zu: the packet is not behind the one before\n", path, at);
        before = packet;
        end = at + packet.content_size / 8;
        for (size_t in = at + sizeof(packet); in < end; in = (in + r + 7) & ~(size_t)7) {
            r = check_record(path, &packet, bytes + in, end - in, ids);
            if (r == 0) {
                bad("%s: offset %zu: no record\n", path, in);
                break;
            }
        }
        at += packet.packet_size / 8;
    }
    munmap(bytes, (size_t)st.st_size);
    return before.discarded;
}

static int check(int argc, char **argv)
{
    uint64_t lost = 0, dropped = 0, found = 0;
    uint32_t ids[EVENTS] = {0};
    struct dirent *entry;
    DIR *dir;

    if (map_counters(argv[0], false) < 0 || read_ids(argv[1], ids) < 0)
        return 2;
    dir = opendir(argv[1]);
    while (dir && (entry = readdir(dir))) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        if (strncmp(entry->d_name, "stream-", 7) == 0)
            lost += check_stream(path, ids);
    }
    if (dir)
        closedir(dir);
    for (unsigned i = 0; i < STREAMS; i++) {
        uint64_t told = seen[i].found + counters[i].dropped;

        /* What could not be written was acknowledged, too. */
        if (argc > 2)
            ;
        else if (told != counters[i].done && told != counters[i].done + 1)
            bad("stream %u: of %" PRIu64 " events that were acknowledged, %" PRIu64
                " are in the trace and %" PRIu64 " were dropped\n",
                i, counters[i].done, seen[i].found, counters[i].dropped);
        if (seen[i].most > counters[i].done + 1)
            bad("stream %u: has event %" PRIu64 " of %" PRIu64 "\n", i, seen[i].most - 1,
                counters[i].done);
        found += seen[i].found;
        dropped += counters[i].dropped;
    }
    /* The loss of an event is counted before it is acknowledged, once in each of them at most. */
    if (argc > 2) {
        uint64_t done = 0;

        for (unsigned i = 0; i < STREAMS; i++)
            done += counters[i].done;
        if (found + lost < done || found + lost > done + STREAMS)
            bad("%" PRIu64 " events were acknowledged, %" PRIu64 " are there and %" PRIu64
                " told to be lost\n",
                done, found, lost);
    } else if (lost < dropped || lost > dropped + STREAMS) {
        bad("%" PRIu64 " events were dropped, %" PRIu64 " are told to be lost\n", dropped, lost);
    }
    printf("%" PRIu64 " events, %" PRIu64 " lost\n", found, lost);
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc >= 6 && strcmp(argv[1], "run") == 0)
        return run(argc - 2, argv + 2);
    if (argc >= 4 && strcmp(argv[1], "check") == 0)
        return check(argc - 2, argv + 2);
    return 2;
}
