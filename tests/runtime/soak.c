/* SPDX-License-Identifier: MIT */

/* Tracing under everything at once, and then: emitted = written + counted as lost, exactly.
 *
 *     soak [-s SEED] [-t SECONDS] [-f] DIR
 *
 * Rounds of about a second, each a process with rings and sinks of random kinds and sizes. In it threads come
 * and go and emit, interrupted by handlers that emit as well, and interrupt each other; events are switched on
 * and off; threads fork (-f: none do), and the children emit from threads of their own; traces are flushed and
 * snapshots taken. Behind each round the streams of its native traces are read: every record has to be
 * whole, of an event that was emitted, once, in the order of its stream; what is missing has to be as many
 * as the processes counted. A round that fails leaves its DIR and ends the run with status 1.
 *
 * What the generator would make of a trace-events file is written by hand. */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "runtime/ring/ring.h"
#include "strata/trace.h"

/* ---- What is emitted ---- */

enum { TWO, TEXT, EVENTS };

static uint8_t states[EVENTS];

static const struct strata_field two_fields[] = {
    {"writer", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"n", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};
static const struct strata_field text_fields[] = {
    {"writer", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"n", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"text", "const char *", STRATA_FIELD_STRING, 0},
};

static struct strata_event events[EVENTS] = {
    {.name = "soak_two",
     .fields = two_fields,
     .state = &states[TWO],
     .file = "soak",
     .line = 1,
     .n_fields = 2,
     .compiled_in = true},
    {.name = "soak_text",
     .fields = text_fields,
     .state = &states[TEXT],
     .file = "soak",
     .line = 2,
     .n_fields = 3,
     .compiled_in = true},
};

static struct strata_group group = {STRATA_TRACE_ABI, EVENTS, "soak", events, NULL};

static void __attribute__((constructor)) register_events(void)
{
    strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
}

/* Seen by all processes of a round. A writer is a thread, or the handlers in it; what it emits has
 * numbers from 0 on. */
#define WRITERS (1U << 18)

static struct shared {
    uint32_t writers, processes, failed, snapshots;
    uint64_t dropped, unwritten; /* as the processes counted them */
    uint64_t emitted[WRITERS];
} * shared;

static const char long_text[] =
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop";

static uint32_t new_writer(void)
{
    uint32_t n = __atomic_fetch_add(&shared->writers, 1, __ATOMIC_RELAXED);

    if (n >= WRITERS) {
        fprintf(stderr, "soak: more than %u writers in a round\n", WRITERS);
        _exit(1);
    }
    return n;
}

static void emit(uint32_t writer, bool text)
{
    struct strata_slot slot;
    uint64_t id = writer, n;
    uint8_t *at;

    if (!__atomic_load_n(&states[text ? TEXT : TWO], __ATOMIC_RELAXED))
        return;
    n = shared->emitted[writer]++;
    at = ring_open(&slot, events[text ? TEXT : TWO].id, text ? 8 + 16 + 1 : 8 + 16);
    if (!at)
        return; /* the ring counts it */
    at = strata_ring_put(at, &id, 8);
    at = strata_ring_put(at, &n, 8);
    if (!text || ring_string(&slot, at, long_text + sizeof(long_text) - 1 - n % 60))
        strata_ring_end(&slot);
}

/* ---- What goes on in a round ---- */

/* ThreadSanitizer does not follow a program of threads that forks, and a child's first allocation may wait
 * for ever under AddressSanitizer: fork() does not wait until all threads have left its allocator. */
#if defined(STRATA_RING_TSAN) || defined(__SANITIZE_ADDRESS__)
static bool forks = false;
#else
static bool forks = true;
#endif
static bool stop; /* atomic */
static bool in_child;
static const char *directory;

/* A thread has two handlers, each of a signal that the other one does not hold back. */
enum { HANDLERS = 2 };
static const int signals[HANDLERS] = {SIGALRM, SIGUSR1};

static __thread __attribute__((tls_model("initial-exec"))) uint32_t handler_writers[HANDLERS];
static __thread __attribute__((tls_model("initial-exec"))) bool has_handler_writers;

static void on_timer(int signal)
{
    if (has_handler_writers)
        for (unsigned i = 0; i < 3; i++)
            emit(handler_writers[signal == signals[1]], i == 1);
}

/* The timers are the thread's own: one of the process would interrupt the thread that waits for the others. */
static void start_timers(timer_t *timers)
{
    for (unsigned i = 0; i < HANDLERS; i++) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signals[i]};
        struct itimerspec often = {{0, 300000 + 70000 * i}, {0, 300000 + 70000 * i}};

        event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
        if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]) < 0 ||
            timer_settime(timers[i], 0, &often, NULL) < 0) {
            perror("soak: a timer");
            _exit(1);
        }
    }
}

/* Or a handler emits while shared->emitted is read. */
static void stop_timers(timer_t *timers)
{
    sigset_t set;

    sigemptyset(&set);
    for (unsigned i = 0; i < HANDLERS; i++) {
        timer_delete(timers[i]);
        sigaddset(&set, signals[i]);
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static uint32_t random_below(unsigned *seed, uint32_t n)
{
    return (uint32_t)rand_r(seed) % n;
}

static unsigned first_seed;

static void child(unsigned seed);

/* A fork among threads that emit. */
static void fork_one(unsigned *seed)
{
    unsigned of_child = (unsigned)rand_r(seed);
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        child(of_child);
    if (pid < 0)
        return; /* no more processes are to be had: not ours to mend */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0) {
        fprintf(stderr, "soak: a child ended with %#x\n", (unsigned)status);
        __atomic_store_n(&shared->failed, 1, __ATOMIC_RELAXED);
    }
}

/* A thread's life. */
static void *live(void *p)
{
    unsigned seed = *(unsigned *)p;
    uint32_t writer = new_writer(), many = 1 + random_below(&seed, 20000);
    timer_t timers[HANDLERS];

    for (unsigned i = 0; i < HANDLERS; i++)
        handler_writers[i] = new_writer();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    has_handler_writers = true;
    start_timers(timers);
    for (uint32_t i = 0; i < many; i++) {
        emit(writer, i % 5 == 0);
        if (i % 512 == 0) {
            if (__atomic_load_n(&stop, __ATOMIC_RELAXED))
                break;
            if (random_below(&seed, 4) == 0)
                usleep(random_below(&seed, 2000));
            if (forks && !in_child && random_below(&seed, 200) == 0) {
                /* The handlers' writers are the parent's. */
                has_handler_writers = false;
                fork_one(&seed);
                has_handler_writers = true;
            }
        }
    }
    stop_timers(timers);
    return NULL;
}

#define THREADS_MAX 8

/* A place in which one thread follows the other. */
static void *churn(void *p)
{
    unsigned seed = *(unsigned *)p;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        unsigned of_thread = (unsigned)rand_r(&seed);
        pthread_t thread;

        if (pthread_create(&thread, NULL, live, &of_thread) == 0)
            pthread_join(thread, NULL);
    }
    return NULL;
}

static void *meddle(void *p)
{
    static const char *const names[] = {"*", "soak_two", "soak_text", "soak_t?o"};
    unsigned seed = *(unsigned *)p;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        char path[4096];

        usleep(random_below(&seed, 20000));
        switch (random_below(&seed, 8)) {
        case 0:
        case 1: strata_trace_flush(); break;
        case 2:
            if (random_below(&seed, 3) == 0) {
                snprintf(path, sizeof(path), "%s/snapshot-%ld-%%n", directory, (long)getpid());
                if (strata_trace_snapshot(path) == 0)
                    __atomic_fetch_add(&shared->snapshots, 1, __ATOMIC_RELAXED);
            }
            break;
        default:
            strata_event_set_state(names[random_below(&seed, 4)], random_below(&seed, 3) != 0);
            break;
        }
    }
    return NULL;
}

static void report(void)
{
    struct strata_trace_stats stats;

    strata_trace_flush();
    strata_trace_get_stats(&stats, sizeof(stats));
    __atomic_fetch_add(&shared->dropped, stats.dropped, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->unwritten, stats.unwritten, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->processes, 1, __ATOMIC_RELAXED);
}

/* THREADS places for about MS. */
static void run_threads(unsigned seed, unsigned n_threads, unsigned ms)
{
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    pthread_t threads[THREADS_MAX + 1];
    unsigned seeds[THREADS_MAX + 1];
    unsigned n = 0;

    for (unsigned i = 0; i < HANDLERS; i++)
        sigaction(signals[i], &action, NULL);
    for (unsigned i = 0; i <= n_threads; i++) {
        seeds[i] = seed + i * 7919;
        if (pthread_create(&threads[n], NULL, i < n_threads ? churn : meddle, &seeds[i]) == 0)
            n++;
    }
    for (unsigned i = 0; i < ms; i += 10)
        usleep(10000);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

/* Forked from one of many threads; the others are not there. */
static void child(unsigned seed)
{
    uint32_t writer = new_writer();

    in_child = true;
    for (unsigned i = 0; i < 1000; i++)
        emit(writer, i % 2 == 0);
    __atomic_store_n(&stop, false, __ATOMIC_RELAXED);
    run_threads(seed, 1 + random_below(&seed, 2), 50);
    report();
    exit(0);
}

/* Of the round's process. */
static void begin_round(unsigned seed)
{
    static const char *const rings[] = {"64k", "128k", "1M", "4M"};
    static const char *const subbuffers[] = {"8k", "16k", "32k"};
    static const char *const also[] = {"", ",log=/dev/null", ",simple=/dev/null"};
    char options[8192];

    snprintf(options, sizeof(options), "ring=%s,subbuffer=%s,memory=%s,ctf=%s/trace%s",
             rings[random_below(&seed, 4)], subbuffers[random_below(&seed, 3)],
             random_below(&seed, 2) ? "512k" : "64M", directory, also[random_below(&seed, 3)]);
    if (strata_trace_opt_parse(options) < 0 || strata_event_set_state("*", true) < 0)
        _exit(1);
    run_threads(seed, 1 + random_below(&seed, THREADS_MAX), 500 + random_below(&seed, 1000));
    report();
    exit(0);
}

/* ---- Reading what was written ---- */

static uint64_t n_read, n_emitted, n_lost, n_snapshots, n_processes, n_writers;

/* What was read of a writer. A handler's records are in the streams of several rings: in which of them
 * depends on what it interrupted. */
struct seen {
    uint64_t *numbers; /* a bit each; NULL: none yet */
    uint64_t next;     /* in the stream STREAM: the number that its next record has at least */
    uint64_t stream;
};
static uint64_t n_streams;

/* Of all writers. */
static struct seen *seen_new(void)
{
    struct seen *seen = calloc(WRITERS, sizeof(*seen));

    if (!seen) {
        fprintf(stderr, "soak: no memory\n");
        exit(1);
    }
    return seen;
}

static void seen_free(struct seen *seen)
{
    for (uint32_t i = 0; i < shared->writers; i++)
        free(seen[i].numbers);
    free(seen);
}

/* Why the record N of WRITER may not be there; NULL: it may. */
static const char *see(struct seen *seen, uint64_t writer, uint64_t n)
{
    struct seen *of;

    if (writer >= shared->writers || n >= shared->emitted[writer])
        return "was never emitted";
    of = &seen[writer];
    if (of->stream != n_streams) {
        of->stream = n_streams;
        of->next = 0;
    }
    if (n < of->next)
        return "comes after a later one";
    of->next = n + 1;
    if (!of->numbers)
        of->numbers = calloc(shared->emitted[writer] / 64 + 1, 8);
    if (!of->numbers)
        return "no memory to note it";
    if (of->numbers[n / 64] >> n % 64 & 1)
        return "was there already";
    of->numbers[n / 64] |= 1ULL << n % 64;
    return NULL;
}

static int wrong(const char *file, uint64_t at, const char *what)
{
    fprintf(stderr, "soak: %s: at %" PRIu64 ": %s\n", file, at, what);
    return -1;
}

/* The records of a packet. Of a SNAPSHOT they may begin and end anywhere. */
static int read_records(const char *file, const uint8_t *p, const uint8_t *end, uint64_t *time,
                        struct seen *seen, uint64_t *ret_n)
{
    const uint8_t *begin = p;

    while (p < end) {
        uint64_t word, writer, n, t;
        const char *what;

        if (end - p < 24)
            return wrong(file, (uint64_t)(p - begin), "a record is cut");
        memcpy(&word, p, 8);
        memcpy(&writer, p + 8, 8);
        memcpy(&n, p + 16, 8);
        t = *time + (((word >> 16) - *time) & 0xffffffffffffULL);
        if (t - *time > STRATA_RING_GAP)
            return wrong(file, (uint64_t)(p - begin), "the time goes back");
        *time = t;
        what = see(seen, writer, n);
        if (what)
            return wrong(file, (uint64_t)(p - begin), what);
        p += 24;
        if ((word & 0xffff) == events[TEXT].id) {
            if ((size_t)(end - p) < n % 60 + 1 ||
                memcmp(p, long_text + sizeof(long_text) - 1 - n % 60, n % 60) != 0 || p[n % 60])
                return wrong(file, (uint64_t)(p - begin), "its text is another");
            p += n % 60 + 1;
        } else if ((word & 0xffff) != events[TWO].id) {
            return wrong(file, (uint64_t)(p - begin), "no such class");
        }
        p += -(uintptr_t)(p - begin) & 7;
        ++*ret_n;
    }
    return 0;
}

static int read_stream(const char *path, struct seen *seen, uint64_t *ret_n)
{
    uint64_t at = 0, length, time = 0, sequence = 0;
    struct ring_packet_header header;
    FILE *f = fopen(path, "re");
    uint8_t *data;
    struct stat st;
    int r = 0;

    if (!f || fstat(fileno(f), &st) < 0)
        return wrong(path, 0, strerror(errno));
    length = (uint64_t)st.st_size;
    n_streams++;
    data = malloc(length + 1);
    if (!data) {
        fclose(f);
        return wrong(path, 0, "is too long for the memory");
    }
    if (fread(data, 1, length, f) != length)
        r = wrong(path, 0, "cannot be read");
    fclose(f);
    while (r == 0 && at < length) {
        if (length - at < sizeof(header)) {
            r = wrong(path, at, "a packet is cut");
            break;
        }
        memcpy(&header, data + at, sizeof(header));
        if (header.magic != CTF_MAGIC || header.packet_size / 8 > length - at ||
            header.content_size > header.packet_size || header.content_size / 8 < sizeof(header))
            r = wrong(path, at, "no packet");
        else if (header.timestamp_begin < time || header.timestamp_end < header.timestamp_begin)
            r = wrong(path, at, "packets are not in the order of time");
        else if (at > 0 && header.packet_seq_num != sequence + 1)
            r = wrong(path, at, "a packet is missing");
        else {
            time = header.timestamp_begin;
            r = read_records(path, data + at + sizeof(header), data + at + header.content_size / 8,
                             &time, seen, ret_n);
            if (r == 0 && time > header.timestamp_end)
                r = wrong(path, at, "a record is later than its packet's end");
        }
        time = header.timestamp_end;
        sequence = header.packet_seq_num;
        at += header.packet_size / 8;
    }
    free(data);
    return r;
}

/* All of the streams of a trace. SEEN: of the round, or NULL: of a snapshot. */
static int read_trace(const char *path, struct seen *of_round)
{
    struct seen *seen = of_round ? of_round : seen_new();
    DIR *dir = opendir(path);
    struct dirent *entry;
    uint64_t n = 0;
    int r = 0;

    if (!dir)
        return wrong(path, 0, strerror(errno));
    while (r == 0 && (entry = readdir(dir))) {
        char file[8192];

        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        if (strncmp(entry->d_name, "stream-", 7) == 0)
            r = read_stream(file, seen, &n);
        if (r == 0 && entry->d_name[0] != '.')
            unlink(file);
    }
    closedir(dir);
    if (of_round)
        n_read += n;
    else
        seen_free(seen);
    if (r == 0)
        rmdir(path);
    return r;
}

static int check_round(void)
{
    uint64_t emitted = 0, before = n_read, lost = shared->dropped + shared->unwritten;
    struct seen *seen = seen_new();
    DIR *dir = opendir(directory);
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return wrong(directory, 0, strerror(errno));
    while (r == 0 && (entry = readdir(dir))) {
        char path[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        r = read_trace(path, strncmp(entry->d_name, "snapshot", 8) == 0 ? NULL : seen);
    }
    closedir(dir);
    seen_free(seen);
    for (uint32_t i = 0; i < shared->writers; i++)
        emitted += shared->emitted[i];
    if (r == 0 && emitted != n_read - before + lost) {
        fprintf(stderr,
                "soak: %" PRIu64 " were emitted, %" PRIu64 " are written, %" PRIu64
                " were counted as dropped and %" PRIu64 " as unwritten\n",
                emitted, n_read - before, shared->dropped, shared->unwritten);
        r = -1;
    }
    n_emitted += emitted;
    n_lost += lost;
    n_snapshots += shared->snapshots;
    n_processes += shared->processes;
    n_writers += shared->writers;
    return r;
}

int main(int argc, char **argv)
{
    unsigned seed = (unsigned)time(NULL), rounds = 0;
    time_t until = time(NULL) + 10;
    int option;

    while ((option = getopt(argc, argv, "s:t:f")) != -1) {
        switch (option) {
        case 's': seed = (unsigned)strtoul(optarg, NULL, 10); break;
        case 't': until = time(NULL) + strtol(optarg, NULL, 10); break;
        case 'f': forks = false; break;
        default: return 2;
        }
    }
    if (argc - optind != 1)
        return 2;
    directory = argv[optind];
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    do {
        int status = 0;
        pid_t pid;

        first_seed = seed + rounds++;
        memset(shared, 0, sizeof(*shared));
        pid = fork();
        if (pid == 0)
            begin_round(first_seed);
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 || shared->failed ||
            check_round() < 0) {
            fprintf(stderr, "soak: the round of -s %u went wrong (%#x)\n", first_seed,
                    (unsigned)status);
            return 1;
        }
    } while (time(NULL) < until);
    printf("%u rounds, %" PRIu64 " processes, %" PRIu64 " writers, %" PRIu64 " snapshots: %" PRIu64
           " events emitted = %" PRIu64 " written + %" PRIu64 " counted as lost\n",
           rounds, n_processes, n_writers, n_snapshots, n_emitted, n_read, n_lost);
    return 0;
}
