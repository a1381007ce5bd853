/* SPDX-License-Identifier: MIT */
#include "format/xentrace/vendor.h"

#include <stdlib.h>

#include "base/macro.h"

/* How much is looked at, of all cpus together and of each at least. */
#define LOOK_TOTAL ((size_t)4 << 20)
#define LOOK_MIN ((size_t)16 << 10)
#define LOOK_BUFFER ((size_t)64 << 10)

#define XEN_EXIT 0x81002
#define XEN_EXIT64 0x81102
/* CR0, CR2, CR3, CR4 and CR8. */
#define REAL_CRS 0x11du
#define ENTRY_FAILED 0x80000000u /* of Intel: the guest could not be entered */
#define INTEL_REASONS 0x60u

struct guess {
    bool is_amd, is_intel;
};

static void look_at_reason(struct guess *guess, uint32_t reason)
{
    uint32_t basic = reason & ~ENTRY_FAILED;

    if (reason != basic && basic < INTEL_REASONS)
        guess->is_intel = true;
    else if (basic >= INTEL_REASONS)
        guess->is_amd = true;
    else if (basic < 32 && !(REAL_CRS >> basic % 16 & 1))
        guess->is_intel = true;
}

/* The records of LEN bytes, which begin with one. */
static void look_at_records(struct guess *guess, const uint8_t *p, size_t len)
{
    while (len >= 4) {
        uint32_t header = load_le32(p);
        uint32_t size = xentrace_record_size(header);
        uint32_t event = xentrace_event(header);

        if (size > len)
            return;
        if (event == XEN_SVM_EXIT || event == XEN_SVM_EXIT64)
            guess->is_amd = true;
        else if ((event == XEN_EXIT || event == XEN_EXIT64) && xentrace_words(header) > 0)
            look_at_reason(guess, load_le32(p + 4 + 8 * xentrace_has_tsc(header)));
        p += size;
        len -= size;
    }
}

/* The windows of CPU, of each as much as BUF holds, up to BUDGET bytes in all. */
static int look_at_cpu(struct xentrace_windows *windows, uint16_t cpu, size_t budget, uint8_t *buf,
                       struct guess *guess, struct error *error)
{
    struct xentrace_cursor cursor = {0};
    struct xentrace_window window;
    int r = 0;

    while (budget > 0 && (r = xentrace_windows_next(windows, &cursor, cpu, &window, error)) > 0) {
        size_t n = MIN(MIN((size_t)window.size, LOOK_BUFFER), budget) / 4 * 4;
        int64_t got = xentrace_windows_read(windows, window.offset, buf, n, error);

        if (got < 0)
            return (int)got;
        look_at_records(guess, buf, (size_t)got);
        budget -= MIN(budget, MAX(n, (size_t)XENTRACE_WINDOW_HEADER_SIZE));
    }
    return MIN(r, 0);
}

int xentrace_guess_vendor(struct xentrace_windows *windows, enum xen_cpu *ret_cpu,
                          struct error *error)
{
    _cleanup_free_ uint8_t *buf = malloc(LOOK_BUFFER);
    struct guess guess = {0};
    unsigned n_cpus = 0;
    int r = 0;

    if (!buf)
        return error_set(error, -ENOMEM, windows->in->path, "out of memory");
    for (unsigned cpu = 0; cpu < XENTRACE_CPUS_MAX; cpu++)
        n_cpus += windows->cpu_present[cpu];
    for (unsigned cpu = 0; cpu < XENTRACE_CPUS_MAX && r >= 0; cpu++)
        if (windows->cpu_present[cpu])
            r = look_at_cpu(windows, (uint16_t)cpu, MAX(LOOK_TOTAL / n_cpus, LOOK_MIN), buf, &guess,
                            error);
    if (r < 0)
        return r;
    *ret_cpu = guess.is_amd == guess.is_intel ? XEN_CPU_UNKNOWN
               : guess.is_amd                 ? XEN_CPU_AMD
                                              : XEN_CPU_INTEL;
    return 0;
}
