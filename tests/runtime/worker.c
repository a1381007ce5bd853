/* SPDX-License-Identifier: MIT */

/* A traced daemon with workers, for the tests: it forks them one after the other, each changes its user, emits, and
 * ends. A worker numbers its events from 0 on.
 *
 *     worker [-b] [-c] [-d] [-e exit|_exit|kill] [-f FORKS] [-p DIRECTORY] [-r ROOT] [-u UID] [-w] COUNT
 *
 *     -b  the master emits an event before it forks: id 0
 *     -B  each worker emits an event before it changes its user, besides
 *     -c  a worker closes all descriptors but those of the standard files
 *     -d  the master is a daemon: the process that was started ends before its child forks workers
 *     -e  how workers end (exit)
 *     -f  how many workers (1)
 *     -r  a worker's root directory, before it changes its user
 *     -t  how many threads emit beside a worker's first one, one after the other (1)
 *     -u  a worker's user and group; 0: as it was
 *     -w  a worker flushes before it ends
 *
 * Each thread of a worker emits COUNT events. Prints how many were emitted in all. */

#include <grp.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/trace.h"

static uint8_t states[1];

static const struct strata_field fields[] = {
    {"id", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
    {"pid", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};

static struct strata_event events[] = {
    {.name = "work",
     .format = "id %" PRIu64 " pid %" PRIu64,
     .fields = fields,
     .state = &states[0],
     .file = "worker",
     .line = 1,
     .n_fields = 2,
     .compiled_in = true},
};

static struct strata_group group = {STRATA_TRACE_ABI, 1, "worker", events, NULL};

static void __attribute__((constructor)) register_events(void)
{
    strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
}

static uint64_t next_id, count;

static void emit(void)
{
    uint64_t pid = (uint64_t)getpid();
    struct strata_slot slot;
    uint8_t *at = states[0] ? ring_open(&slot, events[0].id, 24) : NULL;

    if (at) {
        at = strata_ring_put(at, &next_id, sizeof(next_id));
        (void)strata_ring_put(at, &pid, sizeof(pid));
        strata_ring_end(&slot);
    }
    next_id++;
}

static void *emit_all(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < count; i++)
        emit();
    return NULL;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    _exit(9);
}

int main(int argc, char **argv)
{
    bool before = false, worker_before = false, closes = false, is_daemon = false, flushes = false;
    unsigned forks = 1, threads = 1, uid = 0;
    bool leaves = false, is_killed = false; /* how its children end, other than by exit() */
    const char *root = NULL;
    uint64_t emitted = 0;
    int option;

    while ((option = getopt(argc, argv, "bBcde:f:r:t:u:w")) != -1) {
        switch (option) {
        case 'b': before = true; break;
        case 'B': worker_before = true; break;
        case 'c': closes = true; break;
        case 'd': is_daemon = true; break;
        case 'e':
            leaves = strcmp(optarg, "_exit") == 0;
            is_killed = strcmp(optarg, "kill") == 0;
            break;
        case 'f': forks = (unsigned)atoi(optarg); break;
        case 'r': root = optarg; break;
        case 't': threads = (unsigned)atoi(optarg); break;
        case 'u': uid = (unsigned)atoi(optarg); break;
        case 'w': flushes = true; break;
        default: return 2;
        }
    }
    if (argc - optind != 1)
        return 2;
    count = strtoull(argv[optind], NULL, 10);
    if (is_daemon && fork() > 0)
        _exit(0);
    if (before) {
        emit();
        emitted++;
    }
    for (unsigned i = 0; i < forks; i++) {
        pid_t pid = fork();
        int status;

        if (pid < 0)
            fail("fork");
        if (pid == 0) {
            next_id = 0;
            if (worker_before)
                emit();
            for (int fd = 3; closes && fd < 1024; fd++)
                close(fd);
            if (root && (chroot(root) < 0 || chdir("/") < 0))
                fail(root);
            if (uid && (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0))
                fail("setuid");
            emit_all(NULL);
            /* The first thread has its ring still, so each takes another one, or that of the one before. */
            for (unsigned n = 0; n < threads; n++) {
                pthread_t thread;

                if (pthread_create(&thread, NULL, emit_all, NULL) != 0)
                    fail("pthread_create");
                pthread_join(thread, NULL);
            }
            if (flushes)
                (void)strata_trace_flush();
            if (leaves)
                _exit(0);
            if (is_killed)
                kill(getpid(), SIGKILL);
            exit(0);
        }
        if (waitpid(pid, &status, 0) != pid || (is_killed ? !WIFSIGNALED(status) : status != 0))
            fail("a worker did not end as it should");
        emitted += count * (threads + 1) + worker_before;
    }
    printf("%" PRIu64 "\n", emitted);
    return 0;
}
