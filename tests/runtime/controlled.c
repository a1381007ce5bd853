/* SPDX-License-Identifier: MIT */

/* A traced program for the tests of the control socket: two threads emit an event each millisecond until
 * SIGTERM, upon which it ends as programs do.
 *
 *     controlled [-t OPTIONS]... [-d FILE [-c]] [-f] [-x COMMAND] [-s]
 *
 *     prints its pid on a line when it is ready
 *     -d  becomes a daemon by forking twice, closes all descriptors, and writes the pid to FILE
 *     -c  closes them again and again, while the library's socket is being made
 *     -f  forks a child that does the same and ends with it, and prints its pid after its own
 *     -x  executes COMMAND by a shell first
 *     -s  emits as fast as it can
 *     -q  does not end normally, but by _exit() */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/trace.h"

enum { TICK, TOCK, NEVER, EVENTS };

static uint8_t states[EVENTS];
static const struct strata_field fields[] = {{"n", "uint64_t", STRATA_FIELD_UNSIGNED, 8}};

#define EVENT(number, text)               \
    [number] = {.name = (text),           \
                .format = "n %u",         \
                .fields = fields,         \
                .state = &states[number], \
                .file = "a file\n\\",     \
                .line = (number) + 1,     \
                .n_fields = 1,            \
                .compiled_in = (number) != NEVER}

static struct strata_event events[EVENTS] = {
    EVENT(TICK, "clock_tick"),
    EVENT(TOCK, "clock_tock"),
    EVENT(NEVER, "clock_never"),
};
static struct strata_group group = {STRATA_TRACE_ABI, EVENTS, "clock", events, NULL};

static void __attribute__((constructor)) register_events(void)
{
    strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
}

static int fast;

static void *emit_all(void *p)
{
    int number = p ? TOCK : TICK;

    for (uint64_t n = 0;; n++) {
        struct strata_slot slot;
        uint8_t *at;

        if (strata_event_is_on(&events[number]) && (at = ring_open(&slot, events[number].id, 16))) {
            (void)strata_ring_put(at, &n, 8);
            strata_ring_end(&slot);
        }
        if (!fast)
            usleep(1000);
    }
    return NULL;
}

static void start_threads(void)
{
    pthread_t thread;

    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread, NULL, emit_all, i ? &fast : NULL) != 0)
            abort();
}

static void close_below(int end)
{
    for (int fd = 0; fd < end; fd++)
        close(fd);
}

/* For 0.3 s, in which the library's thread makes its socket. */
static void close_for_a_while(void)
{
    struct timespec began, now;

    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        close_below(128); /* all that there are */
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - began.tv_sec) * 1000000000 + now.tv_nsec - began.tv_nsec < 300000000);
}

static void become_daemon(const char *path, bool again)
{
    FILE *f;

    if (fork() > 0)
        _exit(0);
    setsid();
    if (fork() > 0)
        _exit(0);
    /* After the library has created its socket again, so that there is one to lose. */
    if (!again)
        usleep(300000);
    else
        close_for_a_while();
    close_below(1024);
    f = fopen(path, "w"); /* descriptor 0 */
    if (!f)
        abort();
    fprintf(f, "%ld\n", (long)getpid());
    fclose(f);
}

int main(int argc, char **argv)
{
    const char *daemon_file = NULL, *command = NULL;
    int option, do_fork = 0, quick = 0, again = 0, number;
    sigset_t set;
    pid_t child = 0;

    while ((option = getopt(argc, argv, "t:d:cfx:sq")) != -1) {
        switch (option) {
        case 't':
            if (strata_trace_opt_parse(optarg) != 0)
                return 1;
            break;
        case 'd': daemon_file = optarg; break;
        case 'c': again = 1; break;
        case 'f': do_fork = 1; break;
        case 'x': command = optarg; break;
        case 's': fast = 1; break;
        case 'q': quick = 1; break;
        default: return 2;
        }
    }
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    alarm(300); /* if the test does not end us */

    if (daemon_file)
        become_daemon(daemon_file, again);
    if (do_fork)
        child = fork();
    if (do_fork && child == 0) {
        start_threads();
        sigwait(&set, &number);
        exit(0);
    }
    if (command) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
            execl("/bin/sh", "sh", "-c", command, NULL);
            _exit(127);
        }
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return 1;
    }
    start_threads();
    if (!daemon_file) {
        printf("%ld %ld\n", (long)getpid(), (long)child);
        fflush(stdout);
    }
    sigwait(&set, &number);
    if (child) {
        kill(child, SIGTERM);
        waitpid(child, NULL, 0);
    }
    if (quick)
        _exit(0);
    return 0;
}
