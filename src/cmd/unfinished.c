/* SPDX-License-Identifier: MIT */
#include "cmd/unfinished.h"

#include <limits.h>
#include <stdio.h>

#include "base/macro.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* The handler's: changed only while the signals are blocked. */
static char unfinished[PATH_MAX]; /* "": nothing */
static bool is_dir;
static volatile sig_atomic_t *wanted_stop;

static void on_signal(int number)
{
    int error = errno;

    if (wanted_stop && !*wanted_stop) {
        *wanted_stop = number;
        errno = error;
        return;
    }
    if (unfinished[0] != '\0')
        export_place_remove(unfinished, is_dir);
    signal(number, SIG_DFL);
    /* It is blocked until this returns. */
    raise(number);
}

static void block(sigset_t *ret_before)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, ret_before);
}

static void catch (void)
{
    /* While one is handled, no other one is. */
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction old;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        sigaddset(&action.sa_mask, signals[i]);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
}

int unfinished_open(enum export_target target, const char *wanted, volatile sig_atomic_t *stop,
                    struct export_place *ret, struct fault *fault)
{
    sigset_t before;
    int r;

    block(&before);
    r = export_place_open(target, wanted, ret, fault);
    if (r >= 0) {
        /* A path that is too long could not have been opened. */
        snprintf(unfinished, sizeof unfinished, "%s", ret->path ? ret->path : "");
        is_dir = target == EXPORT_FOLDER;
        wanted_stop = stop;
        catch ();
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}

void unfinished_done(struct export_place *place)
{
    sigset_t before;

    export_place_done(place);
    block(&before);
    unfinished[0] = '\0';
    wanted_stop = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct sigaction now;

        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == on_signal)
            signal(signals[i], SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}
