/* SPDX-License-Identifier: MIT */

/* Snapshots that a signal asks for. The handler only wakes a thread, by a semaphore: it needs no
 * descriptor, which a program that becomes a daemon could close. The thread is there as soon as a
 * signal was chosen. */

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/control/snapshot.h"
#include "runtime/macro.h"
#include "runtime/message.h"
#include "runtime/process/thread.h"
#include "runtime/semaphore_wait.h"
#include "runtime/sinks/output.h"

static struct {
    pthread_mutex_t lock; /* of directory; a leaf */
    char *dir;            /* NULL: SNAPSHOT_FOLDER */
    pthread_mutex_t busy; /* a snapshot is being taken; of taken and ended */
    atomic_bool running;
    atomic_uint asked; /* how many the handler was called for */
    unsigned taken;
    bool ended;
    sem_t wake;
    int signal; /* 0: none */
} wish = {.lock = PTHREAD_MUTEX_INITIALIZER, .busy = PTHREAD_MUTEX_INITIALIZER};

int snapshot_set_dir(const char *dir)
{
    char *copy = output_absolute(dir), *old;

    if (!copy)
        return -ENOMEM;
    pthread_mutex_lock(&wish.lock);
    old = wish.dir;
    wish.dir = copy;
    pthread_mutex_unlock(&wish.lock);
    free(old);
    return 0;
}

static void take_one(void)
{
    struct snapshot snapshot;
    _cleanup_free_ char *dir = NULL;
    int r;

    pthread_mutex_lock(&wish.lock);
    dir = strdup(wish.dir ? wish.dir : SNAPSHOT_FOLDER);
    pthread_mutex_unlock(&wish.lock);
    r = dir ? snapshot_take(dir, &snapshot) : -ENOMEM;
    if (r >= 0)
        snapshot_done(&snapshot);
    else
        trace_message("cannot make a snapshot (%s): %s", dir ? dir : SNAPSHOT_FOLDER,
                      r == -EEXIST ? "the name already exists" : strerror(-r));
}

/* With `busy` locked. False: all that were asked for are taken. */
static bool take_next(void)
{
    if (wish.taken == atomic_load(&wish.asked))
        return false;
    wish.taken++;
    take_one();
    return true;
}

static bool wait_for_wish(void)
{
    return semaphore_wait(&wish.wake, THREAD_CHECK_MS * UINT64_C(1000000));
}

static void *snapshot_main(void *unused)
{
    (void)unused;
    while (!thread_must_end()) {
        if (!wait_for_wish())
            continue;
        pthread_mutex_lock(&wish.busy);
        /* What this was woken for may have been taken at the end of the process meanwhile. */
        if (!wish.ended)
            take_next();
        pthread_mutex_unlock(&wish.busy);
    }
    atomic_store(&wish.running, false);
    return NULL;
}

static int start_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int r;

    if (wish.running)
        return 0;
    sem_init(&wish.wake, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    r = thread_start(&thread, &attributes, "strata-snapshot", snapshot_main, NULL);
    pthread_attr_destroy(&attributes);
    atomic_store(&wish.running, r == 0);
    return -r;
}

static void on_signal(int number)
{
    int saved_errno = errno;

    (void)number;
    if (atomic_load(&wish.running)) {
        atomic_fetch_add(&wish.asked, 1);
        sem_post(&wish.wake);
    }
    errno = saved_errno;
}

int snapshot_set_signal(int number)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    int r;

    if (number == wish.signal)
        return 0;
    /* A handler that returns to what caused it would do so for ever. */
    if (number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
        number == SIGABRT)
        return -EINVAL;
    if (number) {
        if (sigaction(number, NULL, &old) < 0)
            return -errno;
        if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
            return -EBUSY;
        r = start_thread();
        if (r < 0)
            return r;
        sigfillset(&action.sa_mask);
        if (sigaction(number, &action, NULL) < 0)
            return -errno;
    }
    /* What the program has put there meanwhile is the program's. */
    if (wish.signal && sigaction(wish.signal, NULL, &old) == 0 && old.sa_handler == on_signal)
        signal(wish.signal, SIG_DFL);
    wish.signal = number;
    return 0;
}

int snapshot_parse_signal(const char *text, int *ret)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {
        {"HUP", SIGHUP},   {"INT", SIGINT},       {"QUIT", SIGQUIT},     {"USR1", SIGUSR1},
        {"USR2", SIGUSR2}, {"ALRM", SIGALRM},     {"TERM", SIGTERM},     {"URG", SIGURG},
        {"IO", SIGIO},     {"VTALRM", SIGVTALRM}, {"WINCH", SIGWINCH},   {"PROF", SIGPROF},
        {"PWR", SIGPWR},   {"XCPU", SIGXCPU},     {"STKFLT", SIGSTKFLT}, {"TSTP", SIGTSTP}};
    int from = 0;
    char *end;
    long n;

    if (strcmp(text, "off") == 0) {
        *ret = 0;
        return 0;
    }
    if (strncmp(text, "SIG", 3) == 0)
        text += 3;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(text, names[i].name) == 0) {
            *ret = names[i].number;
            return 0;
        }
    if (strncmp(text, "RTMIN+", 6) == 0) {
        from = SIGRTMIN;
        text += 6;
    }
    if (*text < '0' || *text > '9')
        return -EINVAL;
    n = strtol(text, &end, 10);
    if (*end || n + from < 1 || n + from > SIGRTMAX)
        return -EINVAL;
    *ret = (int)n + from;
    return 0;
}

/* The locks may have been another thread's; what they guard is whole, as it changes in one store. */
void snapshot_after_fork_child(void)
{
    bool was_running = atomic_exchange(&wish.running, false);

    wish.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wish.busy = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wish.taken = atomic_load(&wish.asked); /* what the parent was asked for is the parent's */
    if (was_running)
        (void)start_thread();
}

/* What was asked for before the end is taken before the end, also what the thread is woken for but has not
 * begun with; and nothing is begun later, which the end would cut off. */
static void __attribute__((destructor(102))) snapshot_end(void)
{
    if (!atomic_load(&wish.running))
        return;
    pthread_mutex_lock(&wish.busy);
    while (take_next())
        ;
    wish.ended = true;
    pthread_mutex_unlock(&wish.busy);
}
