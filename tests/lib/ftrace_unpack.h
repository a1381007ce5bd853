/* SPDX-License-Identifier: MIT */
#pragma once

/* Traces of the test data, unpacked into a temporary directory as a user would have them. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static char unpacked[64]; /* the directory, with guest-*-clock/{cpuN.raw,guest,t.txt} */

static inline int sh(const char *format, ...)
{
    char command[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    return system(command);
}

static int unpack(void **state)
{
    struct statvfs memory;

    (void)state;
    /* Thousands of small files, whose removal takes seconds on a disk. */
    if (access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &memory) == 0 &&
        memory.f_bavail * memory.f_frsize >= 1000000000)
        strcpy(unpacked, "/dev/shm/strata-test-XXXXXX");
    else
        strcpy(unpacked, "/tmp/strata-test-XXXXXX");
    if (!mkdtemp(unpacked))
        return -1;
    /* The second guest ran the same kernel, at the same addresses, but its kallsyms was not saved. */
    return sh("set -e; cd %s; for c in local tsc; do d=%s/ftrace/guest-$c-clock; "
              "mkdir guest-$c-clock; cd guest-$c-clock; tar -xJf $d/guest.tar.xz; "
              "for n in 0 1; do xz -dc $d/cpu$n.raw.xz >cpu$n.raw; done; "
              "gzip -dc $d/tracecmd-report-t.txt.gz >t.txt; cd ..; done; "
              "cp guest-local-clock/guest/proc/kallsyms guest-tsc-clock/guest/proc/",
              unpacked, TEST_DATA) == 0
               ? 0
               : -1;
}

static int remove_unpacked(void **state)
{
    (void)state;
    return sh("rm -rf %s", unpacked);
}
