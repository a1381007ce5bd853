/* SPDX-License-Identifier: MIT */
#include "format/perf_data/feature.h"

#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"

struct reader {
    struct perf_attrs *attrs;
    const uint8_t *p, *end;
};

static bool read_u32(struct reader *r, uint32_t *ret)
{
    if (r->end - r->p < 4)
        return false;
    *ret = load_u32_swap(r->p, r->attrs->swap);
    r->p += 4;
    return true;
}

static bool read_u64(struct reader *r, uint64_t *ret)
{
    if (r->end - r->p < 8)
        return false;
    *ret = load_u64_swap(r->p, r->attrs->swap);
    r->p += 8;
    return true;
}

/* A text, not ended by a NUL. */
static bool read_text(struct reader *r, const char **ret, size_t *ret_len)
{
    uint32_t size;

    if (!read_u32(r, &size) || size > (size_t)(r->end - r->p))
        return false;
    *ret = (const char *)r->p;
    *ret_len = strnlen(*ret, size);
    r->p += size;
    return true;
}

static int keep_text(struct reader *r, const char **ret)
{
    const char *s;
    size_t len;

    if (!read_text(r, &s, &len))
        return 0;
    *ret = arena_strndup(&r->attrs->arena, s, len);
    return *ret ? 0 : -ENOMEM;
}

/* The words with blanks between. */
static int read_cmdline(struct reader *r, char **ret)
{
    char *line = arena_alloc(&r->attrs->arena, (size_t)(r->end - r->p) + 1);
    char *p = line;
    const char *word;
    size_t len;
    uint32_t n;

    if (!line)
        return -ENOMEM;
    if (!read_u32(r, &n))
        return 0;
    for (; n > 0 && read_text(r, &word, &len); n--) {
        if (p > line)
            *p++ = ' ';
        memcpy(p, word, len);
        p += len;
    }
    *p = '\0';
    *ret = line;
    return 0;
}

static int read_event_desc(struct reader *r)
{
    uint32_t n, attr_size;

    if (!read_u32(r, &n) || !read_u32(r, &attr_size))
        return 0;
    for (unsigned i = 0; i < n && i < r->attrs->n; i++) {
        struct perf_attr *attr = r->attrs->list[i];
        uint32_t n_ids;

        if (attr_size > (size_t)(r->end - r->p))
            return 0;
        r->p += attr_size;
        if (!read_u32(r, &n_ids))
            return 0;
        if (keep_text(r, &attr->name) < 0)
            return -ENOMEM;
        if (n_ids > (size_t)(r->end - r->p) / 8)
            return 0;
        r->p += (size_t)n_ids * 8;
    }
    return 0;
}

static void read_clock_data(struct perf_features *features, struct reader *r)
{
    uint64_t wall, clock;
    uint32_t version, id;

    if (!read_u32(r, &version) || version != 1 || !read_u32(r, &id) || !read_u64(r, &wall) ||
        !read_u64(r, &clock))
        return;
    features->clockid = (int32_t)id;
    features->wall_ns = wall;
    features->clock_ns = clock;
}

int perf_feature_read(struct perf_features *features, struct perf_attrs *attrs, unsigned id,
                      const uint8_t *p, size_t size)
{
    struct reader r = {.attrs = attrs, .p = p, .end = p + size};

    switch (id) {
    case FEATURE_HOSTNAME: return keep_text(&r, &features->hostname);
    case FEATURE_OSRELEASE: return keep_text(&r, &features->osrelease);
    case FEATURE_VERSION: return keep_text(&r, &features->version);
    case FEATURE_ARCH: return keep_text(&r, &features->arch);
    case FEATURE_CPUDESC: return keep_text(&r, &features->cpudesc);
    case FEATURE_CPUID: return keep_text(&r, &features->cpuid);
    case FEATURE_CMDLINE: return read_cmdline(&r, &features->cmdline);
    case FEATURE_EVENT_DESC: return read_event_desc(&r);
    case FEATURE_NRCPUS: (void)read_u32(&r, &features->n_cpus); return 0;
    case FEATURE_TOTAL_MEM: (void)read_u64(&r, &features->total_mem_kb); return 0;
    case FEATURE_CLOCK_DATA: read_clock_data(features, &r); return 0;
    case FEATURE_AUXTRACE: features->has_aux = true; return 0;
    case FEATURE_STAT: features->has_counts = true; return 0;
    case FEATURE_DIR_FORMAT: features->is_directory = true; return 0;
    default: return 0;
    }
}
