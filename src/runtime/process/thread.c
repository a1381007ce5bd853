/* SPDX-License-Identifier: MIT */
#include "runtime/process/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/macro.h"
#include "runtime/process/proc_file.h"

static atomic_uint n_threads; /* of the library */
static atomic_flag ending = ATOMIC_FLAG_INIT;

struct start {
    void *(*function)(void *);
    void *argument;
};

static void *thread_main(void *p)
{
    struct start start = *(struct start *)p;
    void *result;

    free(p);
    result = start.function(start.argument);
    atomic_fetch_sub(&n_threads, 1);
    return result;
}

int thread_start(pthread_t *ret, const pthread_attr_t *attributes, const char *name,
                 void *(*function)(void *), void *argument)
{
    struct start *start = malloc(sizeof(*start));
    sigset_t all, before;
    int r;

    if (!start)
        return ENOMEM;
    *start = (struct start){function, argument};
    atomic_fetch_add(&n_threads, 1);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret, attributes, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0) {
        pthread_setname_np(*ret, name);
    } else {
        atomic_fetch_sub(&n_threads, 1);
        free(start);
    }
    return r;
}

/* The kernel forgets a thread's list of robust mutexes, which each thread of glibc has, when it ends. This
 * one system call says that the main thread lives, without /proc. */
static bool main_thread_has_list(void)
{
    void *list = NULL;
    size_t len;

    return syscall(SYS_get_robust_list, getpid(), &list, &len) == 0 && list;
}

bool thread_must_end(void)
{
    unsigned n;
    sigset_t all;
    char state;

    if (likely(main_thread_has_list()))
        return false;
    state = proc_main_thread_state();
    n = proc_thread_count();
    if (!state || !n)
        return true;
    /* The main thread counts until the process ends. */
    if ((state != 'Z' && state != 'X') || n > atomic_load(&n_threads) + 1)
        return false;
    if (atomic_flag_test_and_set(&ending))
        return false; /* another of the library's threads is in exit() */
    /* What waits for the process is delivered now, and what comes later, as to any other thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    exit(0);
}

void thread_forget(void)
{
    atomic_store(&n_threads, 0);
    atomic_flag_clear(&ending);
}
