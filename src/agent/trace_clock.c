/* SPDX-License-Identifier: MIT */
#include "agent/trace_clock.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/reader.h"
#include "base/tsc.h"
#include "base/wide.h"

/* The next word of a list, without brackets; *RET_IN_FORCE: it was in brackets (the current clock). */
static const char *next_word(const char **list, size_t *ret_len, bool *ret_in_force)
{
    const char *p = *list + strspn(*list, " \n");
    size_t len = strcspn(p, " \n");

    *list = p + len;
    if (len == 0)
        return NULL;
    *ret_in_force = *p == '[';
    if (*ret_in_force) {
        p++;
        len--;
        if (len > 0 && p[len - 1] == ']')
            len--;
    }
    *ret_len = len;
    return p;
}

static bool is_offered(const char *offered, const char *name)
{
    const char *word;
    bool in_force;
    size_t len;

    while ((word = next_word(&offered, &len, &in_force)))
        if (strlen(name) == len && memcmp(word, name, len) == 0)
            return true;
    return false;
}

void guest_clock_in_force(const char *offered, char *ret_name, size_t size)
{
    const char *word;
    bool in_force;
    size_t len;

    *ret_name = '\0';
    while ((word = next_word(&offered, &len, &in_force)))
        if (in_force && len < size) {
            memcpy(ret_name, word, len);
            ret_name[len] = '\0';
        }
}

int guest_clock_choose(const char *offered, const char *wanted, char *ret_name, size_t size)
{
    static const char *const best[] = {"x86-tsc", "mono_raw", "mono"};
    const char *name = NULL;
    char in_force[32];

    if (*wanted) {
        if (!is_offered(offered, wanted))
            return -ENOENT;
        name = wanted;
    }
    for (unsigned i = 0; !name && i < ARRAY_SIZE(best); i++)
        if (is_offered(offered, best[i]))
            name = best[i];
    if (!name) {
        guest_clock_in_force(offered, in_force, sizeof in_force);
        name = in_force;
    }
    if (!*name)
        return -ENOENT;
    if (strlen(name) >= size)
        return -ENAMETOOLONG;
    memcpy(ret_name, name, strlen(name) + 1);
    return 0;
}

/* -1: not one of them. */
static int number_of(const char *name)
{
    static const struct {
        const char *name;
        clockid_t id;
    } clocks[] = {{"mono", CLOCK_MONOTONIC},
                  {"mono_raw", CLOCK_MONOTONIC_RAW},
                  {"boot", CLOCK_BOOTTIME},
                  {"tai", CLOCK_TAI}};

    for (unsigned i = 0; i < ARRAY_SIZE(clocks); i++)
        if (strcmp(name, clocks[i].name) == 0)
            return clocks[i].id;
    return -1;
}

uint64_t guest_clock_now(const struct guest_clock *clock)
{
    int id = number_of(clock->name);
    struct timespec now;
    uint64_t time;

    if (id >= 0) {
        if (clock_gettime((clockid_t)id, &now) < 0)
            return 0;
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    }
#ifdef HAS_TSC
    if (strcmp(clock->name, "x86-tsc") == 0)
        return tsc_read();
#endif
    if (clock->dir < 0 || reader_clock(clock->dir, 0, &time) < 0)
        return 0;
    return time;
}

#ifdef HAS_TSC
/* The rate by which the kernel converts ticks, exact to a billionth: perf's mmap page has the
 * multiplier and shift from ticks to nanoseconds. */
static uint64_t tsc_hz(void)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .size = sizeof attr,
        .exclude_kernel = 1,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    const struct perf_event_mmap_page *page;
    uint64_t hz = 0;

    if (fd < 0)
        return 0;
    page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) {
        if (page->cap_user_time && page->time_mult > 0 && page->time_shift < 64)
            hz = wide_low(wide_div(
                wide_mul(wide_of(1000000000), wide_of_u64(UINT64_C(1) << page->time_shift)),
                wide_of(page->time_mult)));
        munmap((void *)page, size);
    }
    close(fd);
    return hz;
}
#endif

uint64_t guest_clock_hz(const struct guest_clock *clock)
{
    static const char *const nanoseconds[] = {"local", "global", "perf"};

    if (number_of(clock->name) >= 0)
        return 1000000000;
    for (unsigned i = 0; i < ARRAY_SIZE(nanoseconds); i++)
        if (strcmp(clock->name, nanoseconds[i]) == 0)
            return 1000000000;
#ifdef HAS_TSC
    if (strcmp(clock->name, "x86-tsc") == 0)
        return tsc_hz();
#endif
    return 0;
}
