/* SPDX-License-Identifier: MIT */
#include "record/xen/host_info.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "record/xen/store.h"

#define NAME_MAX_LEN 128

struct domain {
    uint32_t id;
    char name[NAME_MAX_LEN];
};

struct xen_host_info {
    struct xen_control *control;
    struct xen_store *store; /* NULL: xenstored is not to be reached */
    bool store_failed;

    char version[32];
    char extra[64];
    char capabilities[1024];
    char commandline[1024];
    char vendor[16];
    const char *scheduler;
    uint64_t tsc_hz;

    unsigned n_cpus;
    struct cpu_set recorded;

    struct domain *domains; /* all that were seen */
    unsigned n_domains, capacity;
};

/* ---- Once ---- */

/* Xen's strings end with a blank. */
static void trim(char *text)
{
    size_t len = strlen(text);

    while (len > 0 && text[len - 1] == ' ')
        text[--len] = 0;
}

static void ask_version(struct xen_host_info *facts)
{
    char extra[64] = "";
    uint32_t version;
    int len = 0;

    if (xen_control_version(facts->control, &version) < 0)
        return;
    (void)xen_control_text(facts->control, XEN_TEXT_EXTRA, extra, sizeof extra);
    /* "4.17" and ".7-debian" are version 4.17.7 and the rest. */
    if (extra[0] == '.' && extra[1] >= '0' && extra[1] <= '9')
        len = (int)(1 + strspn(extra + 1, "0123456789"));
    snprintf(facts->version, sizeof facts->version, "%u.%u%.*s", (unsigned)(version >> 16),
             (unsigned)(version & 0xffff), MIN(len, 11), extra);
    snprintf(facts->extra, sizeof facts->extra, "%s", extra + len);
}

/* "amd", "intel", else as the processor says it. */
static void ask_vendor(struct xen_host_info *facts)
{
#if defined(__x86_64__) || defined(__i386__)
    uint32_t words[4];

    if (!__get_cpuid(0, &words[3], &words[0], &words[2], &words[1]))
        return;
    memcpy(facts->vendor, words, 12);
    if (strcmp(facts->vendor, "AuthenticAMD") == 0)
        strcpy(facts->vendor, "amd");
    else if (strcmp(facts->vendor, "HygonGenuine") == 0)
        strcpy(facts->vendor, "hygon");
    else if (strcmp(facts->vendor, "GenuineIntel") == 0)
        strcpy(facts->vendor, "intel");
#else
    (void)facts;
#endif
}

int xen_host_info_new(struct xen_control *control, struct xen_host_info **ret)
{
    struct xen_host_info *facts = calloc(1, sizeof *facts);
    struct xen_physinfo physinfo;
    int r;

    if (!facts)
        return -ENOMEM;
    facts->control = control;
    r = xen_control_physinfo(control, &physinfo);
    if (r < 0) {
        free(facts);
        return r;
    }
    facts->tsc_hz = (uint64_t)physinfo.tsc_khz * 1000;
    ask_version(facts);
    (void)xen_control_text(control, XEN_TEXT_CAPABILITIES, facts->capabilities,
                           sizeof facts->capabilities);
    (void)xen_control_text(control, XEN_TEXT_COMMANDLINE, facts->commandline,
                           sizeof facts->commandline);
    trim(facts->capabilities);
    trim(facts->commandline);
    (void)xen_control_scheduler(control, &facts->scheduler);
    ask_vendor(facts);
    if (xen_store_open(&facts->store) < 0)
        facts->store_failed = true;
    *ret = facts;
    return 0;
}

void xen_host_info_free(struct xen_host_info *facts)
{
    if (!facts)
        return;
    xen_store_free(facts->store);
    free(facts->domains);
    free(facts);
}

void xen_host_info_buffers(struct xen_host_info *facts, const struct trace_buffers *buffers)
{
    facts->n_cpus = buffers->n_cpus;
    for (unsigned cpu = 0; cpu < buffers->n_cpus; cpu++)
        if (buffers->views[cpu])
            cpu_set_add(&facts->recorded, cpu);
}

bool xen_host_info_changed(struct xen_host_info *facts)
{
    return facts->store && xen_store_changed(facts->store);
}

/* ---- Domains ---- */

static int see_domain(void *userdata, uint32_t id, const char *name)
{
    struct xen_host_info *facts = userdata;

    for (unsigned i = 0; i < facts->n_domains; i++)
        if (facts->domains[i].id == id) {
            /* A name comes a moment after the domain. */
            if (*name)
                snprintf(facts->domains[i].name, NAME_MAX_LEN, "%s", name);
            return 0;
        }
    if (facts->n_domains == facts->capacity) {
        unsigned capacity = facts->capacity ? 2 * facts->capacity : 16;
        struct domain *more = realloc(facts->domains, capacity * sizeof *more);

        if (!more)
            return -ENOMEM;
        facts->domains = more;
        facts->capacity = capacity;
    }
    facts->domains[facts->n_domains].id = id;
    snprintf(facts->domains[facts->n_domains++].name, NAME_MAX_LEN, "%s", name);
    return 0;
}

static int copy_domains(const struct xen_host_info *facts, struct arena *arena,
                        struct manifest_xen *xen)
{
    struct manifest_domain *domains =
        arena_alloc(arena, MAX(facts->n_domains, 1u) * sizeof *domains);

    if (!domains)
        return -ENOMEM;
    for (unsigned i = 0; i < facts->n_domains; i++) {
        domains[i].id = facts->domains[i].id;
        domains[i].name = arena_strdup(arena, facts->domains[i].name);
        if (!domains[i].name)
            return -ENOMEM;
    }
    xen->domains = domains;
    xen->n_domains = facts->n_domains;
    return 0;
}

/* ---- Telling ---- */

/* The members of A that are (not, with WITHOUT) in B. */
static int copy_cpus(const struct cpu_set *list, const struct cpu_set *without, unsigned n,
                     struct arena *arena, const uint32_t **ret, unsigned *ret_n)
{
    uint32_t *cpus = arena_alloc(arena, MAX(n, 1u) * sizeof *cpus);
    unsigned used = 0;

    if (!cpus)
        return -ENOMEM;
    for (unsigned cpu = 0; cpu < n; cpu++)
        if (cpu_set_has(list, cpu) && !(without && cpu_set_has(without, cpu)))
            cpus[used++] = cpu;
    *ret = cpus;
    *ret_n = used;
    return 0;
}

/* Those without a buffer, and those that have one but do not run. */
static int copy_offline(const struct xen_host_info *facts, struct arena *arena,
                        struct manifest_xen *xen)
{
    struct cpu_set all = {0};
    struct cpu_set online;

    if (xen_control_online(facts->control, facts->n_cpus, &online) < 0)
        online = facts->recorded;
    for (unsigned i = 0; i < ARRAY_SIZE(online.bits); i++)
        online.bits[i] &= facts->recorded.bits[i];
    for (unsigned cpu = 0; cpu < facts->n_cpus; cpu++)
        cpu_set_add(&all, cpu);
    return copy_cpus(&all, &online, facts->n_cpus, arena, &xen->offline, &xen->n_offline);
}

static const char *text_or_null(const char *text)
{
    return text && *text ? text : NULL;
}

int xen_host_info_describe(struct xen_host_info *facts, struct arena *arena,
                           struct manifest_source *ret)
{
    struct manifest_xen *xen = arena_alloc(arena, sizeof *xen);
    int r;

    if (!xen)
        return -ENOMEM;
    *xen = (struct manifest_xen){
        .version = text_or_null(facts->version),
        .extra = text_or_null(facts->extra),
        .caps = text_or_null(facts->capabilities),
        .commandline = text_or_null(facts->commandline),
        .cpu_vendor = text_or_null(facts->vendor),
        .scheduler = facts->scheduler,
    };
    r = copy_cpus(&facts->recorded, NULL, facts->n_cpus, arena, &xen->cpus, &xen->n_cpus);
    if (r >= 0)
        r = copy_offline(facts, arena, xen);
    if (r < 0)
        return r;
    if (facts->store) {
        r = xen_store_domains(facts->store, see_domain, facts);
        if (r == -ENOMEM)
            return r;
        facts->store_failed = r < 0;
    }
    r = copy_domains(facts, arena, xen);
    if (r < 0)
        return r;
    ret->kind = "xentrace";
    ret->layer = "hypervisor";
    ret->clock.name = "tsc";
    ret->clock.hz = facts->tsc_hz;
    ret->xen = xen;
    if (facts->store_failed) {
        static const char *const problem[] = {
            "xenstored did not answer: the names of domains are not known"};

        ret->problems = problem;
        ret->n_problems = 1;
    }
    return 0;
}
