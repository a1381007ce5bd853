/* SPDX-License-Identifier: MIT */

/* A traced program that loses what the tests of losses want it to lose.
 *
 *     losses [OPTION]... COUNTS
 *
 *     -t OPTIONS  strata_trace_opt_parse(); any number
 *     -T THREADS  that emit, besides the main thread (0)
 *     -n EVENTS   of each (1000)
 *     -f          the main thread emits an event, and flushes, before the condition holds
 *     -N LIMIT    RLIMIT_NOFILE     -F BYTES  RLIMIT_FSIZE     -V BYTES  RLIMIT_AS, beyond what is used
 *     -u UID      becomes that user
 *     -r DIR      chroot() to it
 *     -e HOW      exit, pthread_exit, _exit, fork (a child that emits as well), emitting (exits while the
 *                 threads emit), handler (a signal handler that interrupts an event emits, and exits), kill
 *     -p          waits for SIGUSR1 before it ends
 *
 * COUNTS is a file that it maps: for each thread two numbers of 8 bytes, how many events it began to emit and
 * how many it is done with. An event has two numbers: the thread's, and its own from 0 on; with its header
 * word it takes 24 bytes. */

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/trace.h"

static uint8_t state;
static const struct strata_field fields[] = {
    {"thread", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"n", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};
static struct strata_event events[] = {{.name = "losses_event",
                                        .format = "thread %llu n %llu",
                                        .fields = fields,
                                        .state = &state,
                                        .file = "losses",
                                        .line = 1,
                                        .n_fields = 2,
                                        .compiled_in = true}};
static struct strata_group group = {STRATA_TRACE_ABI, 1, "losses", events, NULL};

static void __attribute__((constructor)) register_events(void)
{
    strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
}

#define THREADS_MAX 256

static struct count {
    uint64_t begun, done;
} * counts;

static unsigned long n_events = 1000;
static bool for_ever, logs;

static void emit(unsigned thread, uint64_t n)
{
    uint64_t id = thread;
    struct strata_slot slot;
    uint8_t *at;

    if (!__atomic_load_n(&state, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&counts[thread].begun, counts[thread].begun + 1, __ATOMIC_RELAXED);
    if (logs) {
        strata_log("losses_event thread %u n %llu", thread, (unsigned long long)n);
        __atomic_store_n(&counts[thread].done, counts[thread].done + 1, __ATOMIC_RELAXED);
        return;
    }
    at = ring_open(&slot, events[0].id, 24);
    if (at) {
        at = strata_ring_put(at, &id, 8);
        (void)strata_ring_put(at, &n, 8);
        strata_ring_end(&slot);
    }
    __atomic_store_n(&counts[thread].done, counts[thread].done + 1, __ATOMIC_RELAXED);
}

static void *emit_all(void *p)
{
    unsigned thread = (unsigned)(uintptr_t)p;

    for (uint64_t n = 0; n < n_events || for_ever; n++)
        emit(thread, n);
    return NULL;
}

static void on_usr2(int unused)
{
    (void)unused;
    for (uint64_t n = 0; n < 3; n++)
        emit(THREADS_MAX - 3, n);
    exit(0);
}

static void end_in_handler(void)
{
    struct strata_slot slot;

    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = on_usr2}, NULL);
    counts[0].begun++;
    (void)ring_open(&slot, events[0].id, 24);
    raise(SIGUSR2);
}

static int limit(__rlimit_resource_t what, rlim_t n)
{
    struct rlimit limit;

    if (getrlimit(what, &limit) < 0)
        return -1;
    limit.rlim_cur = n;
    return setrlimit(what, &limit);
}

static unsigned long memory_used(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f || fscanf(f, "%lu", &pages) != 1)
        exit(2);
    fclose(f);
    return pages * 4096;
}

int main(int argc, char **argv)
{
    unsigned long n_threads = 0, files = 0, bytes = 0, memory = 0, uid = 0;
    const char *how = "exit", *root = NULL;
    bool first = false, waits = false;
    pthread_t threads[THREADS_MAX];
    sigset_t usr1;
    int option, fd, number;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    while ((option = getopt(argc, argv, "t:T:n:fN:F:V:u:r:e:pl")) != -1)
        switch (option) {
        case 't':
            if (strata_trace_opt_parse(optarg) < 0)
                return 2;
            break;
        case 'T': n_threads = strtoul(optarg, NULL, 10); break;
        case 'n': n_events = strtoul(optarg, NULL, 10); break;
        case 'f': first = true; break;
        case 'N': files = strtoul(optarg, NULL, 10); break;
        case 'F': bytes = strtoul(optarg, NULL, 10); break;
        case 'V': memory = strtoul(optarg, NULL, 10); break;
        case 'u': uid = strtoul(optarg, NULL, 10); break;
        case 'r': root = optarg; break;
        case 'e': how = optarg; break;
        case 'p': waits = true; break;
        case 'l': logs = true; break;
        default: return 2;
        }
    if (optind + 1 != argc || n_threads >= THREADS_MAX)
        return 2;
    fd = open(argv[optind], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, THREADS_MAX * sizeof(*counts)) < 0)
        return 2;
    counts = mmap(NULL, THREADS_MAX * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED)
        return 2;
    close(fd);

    if (first) {
        emit(THREADS_MAX - 1, 0);
        (void)strata_trace_flush();
    }
    if ((memory && limit(RLIMIT_AS, memory_used() + memory) < 0) ||
        (files && limit(RLIMIT_NOFILE, files) < 0) || (bytes && limit(RLIMIT_FSIZE, bytes) < 0) ||
        (root && (chroot(root) < 0 || chdir("/") < 0)) ||
        (uid && (setgroups(0, NULL) < 0 || setgid((gid_t)uid) < 0 || setuid((uid_t)uid) < 0)))
        return 2;

    if (!how)
        return 2;
    for_ever = strcmp(how, "emitting") == 0;
    for (unsigned long i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, emit_all, (void *)(uintptr_t)(i + 1)) != 0)
            return 2;
    if (for_ever) {
        usleep(300000);
        exit(0);
    }
    (void)emit_all(NULL);
    if (strcmp(how, "pthread_exit") != 0)
        for (unsigned long i = 0; i < n_threads; i++)
            pthread_join(threads[i], NULL);
    if (strcmp(how, "again") == 0) { /* the same once more, when standard input has ended */
        (void)strata_trace_flush();
        if (puts("flushed") < 0 || fflush(stdout) != 0)
            return 2;
        while (getchar() != EOF)
            ;
        (void)emit_all(NULL);
    }
    if (waits)
        sigwait(&usr1, &number);
    if (strcmp(how, "fork") == 0 && fork() == 0) {
        emit(THREADS_MAX - 2, 0);
        _exit(0);
    }
    if (strcmp(how, "handler") == 0)
        end_in_handler();
    if (strcmp(how, "pthread_exit") == 0)
        pthread_exit(NULL);
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
