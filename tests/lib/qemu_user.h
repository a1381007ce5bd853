/* SPDX-License-Identifier: MIT */
#pragma once

/* Tests of another machine's build run by qemu-user, which cannot do all that a kernel can. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline bool runs_by_qemu_user(void)
{
    char path[256];
    /* /proc/self/exe is the program, as qemu-user shows it. */
    ssize_t n = readlink("/proc/thread-self/exe", path, sizeof path - 1);

    if (n < 0)
        return false;
    path[n] = '\0';
    return strstr(path, "/qemu-") != NULL;
}

/* Skips the test of cmocka's that calls it. */
#define SKIP_BY_QEMU_USER(why)                                \
    do {                                                      \
        if (runs_by_qemu_user()) {                            \
            printf("SKIPPED in part: qemu-user %s\n", (why)); \
            skip();                                           \
        }                                                     \
    } while (0)
