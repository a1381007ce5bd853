/* SPDX-License-Identifier: MIT */
#include "base/futex_fd.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct futex_fd {
    const uint32_t *word;
    uint32_t value; /* that the thread waits to change; written while it is not armed */
    uint32_t armed; /* a futex of its own: 1 while the thread waits for the word */
    int event;
    bool has_thread;
    pthread_t thread;
};

static long wait_for(const uint32_t *word, uint32_t value, bool is_shared)
{
    return syscall(SYS_futex, word, is_shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value, NULL, NULL,
                   0);
}

/* Nothing but system calls, so that it may be cancelled anywhere. */
static void *thread_main(void *userdata)
{
    struct futex_fd *futex = userdata;
    const uint64_t one = 1;

    /* NOLINTNEXTLINE(cert-pos47-c): it holds nothing, and futex() is no point where it could be cancelled else. */
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        long r;

        while (__atomic_load_n(&futex->armed, __ATOMIC_ACQUIRE) == 0)
            (void)wait_for(&futex->armed, 0, false);
        do
            r = wait_for(futex->word, futex->value, true);
        while (r < 0 && errno == EINTR);
        /* Where the word cannot be waited for, its reader looks, and finds why. */
        (void)!write(futex->event, &one, sizeof one);
        /* Last: futex_fd_arm() reads what was written. Before that it does nothing, and is called again, as the
         * descriptor is readable. */
        __atomic_store_n(&futex->armed, 0, __ATOMIC_RELEASE);
    }
    return NULL;
}

int futex_fd_new(const uint32_t *word, struct futex_fd **ret)
{
    struct futex_fd *futex = calloc(1, sizeof *futex);
    int r;

    if (!futex)
        return -ENOMEM;
    futex->word = word;
    futex->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (futex->event < 0) {
        r = -errno;
        free(futex);
        return r;
    }
    *ret = futex;
    return 0;
}

static int start_thread(struct futex_fd *futex)
{
    sigset_t all, before;
    int r;

    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* base/shared_map.h */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = -pthread_create(&futex->thread, NULL, thread_main, futex);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    futex->has_thread = r == 0;
    return r;
}

void futex_fd_free(struct futex_fd *futex)
{
    if (!futex)
        return;
    if (futex->has_thread) {
        pthread_cancel(futex->thread);
        pthread_join(futex->thread, NULL);
    }
    close(futex->event);
    free(futex);
}

int futex_fd(const struct futex_fd *futex)
{
    return futex->event;
}

int futex_fd_arm(struct futex_fd *futex, uint32_t value)
{
    uint64_t count;

    if (__atomic_load_n(&futex->armed, __ATOMIC_ACQUIRE) != 0)
        return 0;
    (void)!read(futex->event, &count, sizeof count);
    futex->value = value;
    __atomic_store_n(&futex->armed, 1, __ATOMIC_RELEASE);
    if (!futex->has_thread) {
        int r = start_thread(futex);

        if (r < 0)
            __atomic_store_n(&futex->armed, 0, __ATOMIC_RELAXED);
        return r;
    }
    (void)syscall(SYS_futex, &futex->armed, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return 0;
}
