/* SPDX-License-Identifier: MIT */
/* Facts about a trace besides its events. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "event/item.h"
#include "timeline/clock_map.h"
#include "trace/complete.h"
#include "trace/trace.h"
#include "tracedir/machine.h"
#include "tracedir/manifest.h"

/* Slewing alone moves a clock by less than this, except over weeks. */
#define STEP_MIN_NS INT64_C(1000000000)

struct facts {
    void (*put)(void *arg, const char *key, const char *value);
    void *arg;
    int *error;
};

static void put_text(const struct facts *facts, const char *key, struct text *text)
{
    text_put_char(text, '\0');
    if (!text->error)
        facts->put(facts->arg, key, text->start);
    else
        *facts->error = text->error;
    text_done(text);
}

static void put_known(const struct facts *facts, const char *key, const char *value)
{
    if (value && *value)
        facts->put(facts->arg, key, value);
}

/* "0-3,6". */
static void put_cpus(const struct facts *facts, const char *key, const uint32_t *cpus, unsigned n)
{
    struct text text = TEXT_IN_MEMORY;

    if (n == 0)
        return;
    for (unsigned i = 0; i < n; i++) {
        unsigned last = i;

        while (last + 1 < n && cpus[last + 1] == cpus[last] + 1)
            last++;
        if (i > 0)
            text_put_char(&text, ',');
        text_put_u64(&text, cpus[i]);
        if (last > i) {
            text_put_char(&text, last > i + 1 ? '-' : ',');
            text_put_u64(&text, cpus[last]);
        }
        i = last;
    }
    put_text(facts, key, &text);
}

static void put_moment(const struct facts *facts, const char *key,
                       const struct manifest_moment *moment)
{
    time_t seconds = (time_t)(moment->realtime_ns / 1000000000);
    char text[64];
    struct tm tm;
    size_t n;

    if (moment->realtime_ns == 0 || !gmtime_r(&seconds, &tm))
        return;
    n = strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(text + n, sizeof text - n, ".%03d UTC",
             (int)(moment->realtime_ns % 1000000000 / 1000000));
    facts->put(facts->arg, key, text);
}

/* States by how much the time of day moved against the monotonic clock, if `began` and `ended` cannot be compared
 * therefore. */
static void put_step(const struct facts *facts, const struct manifest_source *source)
{
    const struct manifest_moment *began = &source->began, *ended = &source->ended;
    int64_t real, monotonic, step;
    char text[100];

    if (began->realtime_ns == 0 || ended->realtime_ns == 0 || began->monotonic_ns == 0 ||
        ended->monotonic_ns == 0 ||
        __builtin_sub_overflow(ended->realtime_ns, began->realtime_ns, &real) ||
        __builtin_sub_overflow(ended->monotonic_ns, began->monotonic_ns, &monotonic) ||
        __builtin_sub_overflow(real, monotonic, &step) ||
        (step > -STEP_MIN_NS && step < STEP_MIN_NS))
        return;
    snprintf(text, sizeof text, "%+.1f s against the monotonic clock, as the clock was %s",
             (double)step / 1e9, step < 0 ? "set" : "set or the host was suspended");
    facts->put(facts->arg, "time of day moved", text);
}

static void put_strings(const struct facts *facts, const char *key, const char *between,
                        const char *const *strings, unsigned n)
{
    struct text text = TEXT_IN_MEMORY;

    for (unsigned i = 0; i < n; i++) {
        text_put_str(&text, i ? between : "");
        text_put_str(&text, strings[i]);
    }
    if (n)
        put_text(facts, key, &text);
}

/* Writes conditions as `strata record -e` takes them; the manifest has EVENT=CONDITION. */
static void put_conditions(const struct facts *facts, const struct manifest_source *source)
{
    struct text text = TEXT_IN_MEMORY;

    for (unsigned i = 0; i < source->n_filters; i++) {
        const char *filter = source->filters[i];
        size_t len = strcspn(filter, "=");

        text_put_str(&text, i ? "; " : "");
        text_put(&text, filter, len);
        text_put_char(&text, '{');
        text_put_str(&text, filter + len + (filter[len] != '\0'));
        text_put_char(&text, '}');
    }
    if (source->n_filters)
        put_text(facts, "conditions", &text);
}

static void put_domains(const struct facts *facts, const struct manifest_xen *xen)
{
    struct text text = TEXT_IN_MEMORY;

    for (unsigned i = 0; i < xen->n_domains; i++) {
        text_put_str(&text, i ? ", d" : "d");
        text_put_u64(&text, xen->domains[i].id);
        if (xen->domains[i].name) {
            text_put_char(&text, ' ');
            text_put_str(&text, xen->domains[i].name);
        }
    }
    if (xen->n_domains)
        put_text(facts, "domains", &text);
}

static void put_xen(const struct facts *facts, const struct manifest_xen *xen)
{
    struct text version = TEXT_IN_MEMORY;

    if (xen->version) {
        text_put_literal(&version, "Xen ");
        text_put_str(&version, xen->version);
        /* "4.17.7-debian" holds its own. */
        if (xen->extra && !strstr(xen->version, xen->extra))
            text_put_str(&version, xen->extra);
        put_text(facts, "hypervisor", &version);
    }
    put_known(facts, "cpu vendor", xen->cpu_vendor);
    put_known(facts, "scheduler", xen->scheduler);
    put_known(facts, "command line", xen->commandline);
    put_known(facts, "capabilities", xen->caps);
    put_cpus(facts, "recorded cpus", xen->cpus, xen->n_cpus);
    put_cpus(facts, "offline cpus", xen->offline, xen->n_offline);
    put_domains(facts, xen);
}

/* "0 by 4713, 1 by 4714" */
static void put_vcpus(const struct facts *facts, const struct manifest_vmm *vmm)
{
    struct text text = TEXT_IN_MEMORY;
    bool any = false;

    for (unsigned i = 0; i < vmm->n_threads; i++) {
        if (vmm->threads[i].vcpu < 0)
            continue;
        text_printf(&text, "%s%d by thread %d", any ? ", " : "", (int)vmm->threads[i].vcpu,
                    (int)vmm->threads[i].id);
        any = true;
    }
    if (any)
        put_text(facts, "vcpus", &text);
    else
        text_done(&text);
}

static void put_vmm(const struct facts *facts, const struct manifest_vmm *vmm)
{
    char name[MACHINE_NAME_SIZE];
    char number[16];

    if (machine_vm_name(vmm, name, sizeof name))
        facts->put(facts->arg, "virtual machine", name);
    put_known(facts, "uuid", vmm->uuid);
    put_known(facts, "monitor", vmm->program);
    put_known(facts, "monitor version", vmm->version);
    put_strings(facts, "command", " ", vmm->command, vmm->n_command);
    put_known(facts, "accelerator", vmm->accelerator);
    if (vmm->pid) {
        snprintf(number, sizeof number, "%d", (int)vmm->pid);
        facts->put(facts->arg, "process", number);
    }
    put_vcpus(facts, vmm);
    put_known(facts, "exit", vmm->exit);
}

const char *trace_complete_text(uint64_t lost, bool is_uncounted,
                                char buf[static TRACE_COMPLETE_SIZE])
{
    if (is_uncounted)
        return "no; an unknown number of events was lost";
    if (lost == 0)
        return "yes";
    snprintf(buf, TRACE_COMPLETE_SIZE, "no; %" PRIu64 " event%s lost", lost,
             lost == 1 ? " was" : "s were");
    return buf;
}

static void put_recorded(const struct facts *facts, const struct manifest_source *source)
{
    char text[TRACE_COMPLETE_SIZE];
    char number[32];

    facts->put(facts->arg, "source", source->name);
    facts->put(facts->arg, "file", source->path);
    put_strings(facts, "declared in", ", ", source->events, source->n_events);
    if (source->xen)
        put_xen(facts, source->xen);
    if (source->percpu) {
        put_known(facts, "buffers", source->percpu->buffer);
        put_cpus(facts, "recorded cpus", source->percpu->cpus, source->percpu->n_cpus);
    }
    if (source->guest) {
        put_known(facts, "release", source->guest->release);
        put_known(facts, "machine", source->guest->machine);
        put_known(facts, "boot id", source->guest->boot_id);
        put_known(facts, "agent", source->guest->agent);
        put_known(facts, "confined by", source->guest->confined);
    }
    if (source->vmm)
        put_vmm(facts, source->vmm);
    if (source->host)
        put_known(facts, "host", source->host->name);
    put_moment(facts, "began", &source->began);
    put_moment(facts, "ended", &source->ended);
    put_step(facts, source);
    put_moment(facts, "came by migration", &source->came);
    put_moment(facts, "left by migration", &source->left);
    facts->put(facts->arg, "complete",
               source->complete
                   ? trace_complete_text(source->lost, manifest_source_lost_more(source), text)
                   : "no");
    if (source->pid_filter)
        facts->put(facts->arg, "filtered",
                   strcmp(source->layer, "host") != 0
                       ? "only certain threads (--pid of its agent)"
                       : "only the threads of what was recorded (--host-threads)");
    put_conditions(facts, source);
    if (source->lost_known) {
        snprintf(number, sizeof number, "%" PRIu64, source->lost);
        facts->put(facts->arg, "lost in all", number);
    }
    put_strings(facts, "problems", "; ", source->problems, source->n_problems);
}

static void put_snapshot(const struct facts *facts, const struct manifest_snapshot *snapshot)
{
    struct text text = TEXT_IN_MEMORY;
    char number[64];

    text_put_str(&text, snapshot->reason ? snapshot->reason : "unknown");
    if (snapshot->trigger)
        text_printf(&text, " '%s'", snapshot->trigger);
    if (snapshot->what)
        text_printf(&text, ": %s", snapshot->what);
    put_text(facts, "snapshot by", &text);
    put_moment(facts, "snapshot at", &snapshot->time);
    put_strings(facts, "triggers after", ", ", snapshot->also, snapshot->n_also);
    if (snapshot->repeats > 0) {
        snprintf(number, sizeof number, "%" PRIu64 " until it was saved", snapshot->repeats);
        facts->put(facts->arg, "repeated", number);
    }
    if (snapshot->suppressed > 0) {
        snprintf(number, sizeof number, "%" PRIu64 " triggers before it saved no snapshot",
                 snapshot->suppressed);
        facts->put(facts->arg, "suppressed", number);
    }
}

/* True if strata merge made the timeline. Its host is unknown. */
bool trace_input_is_merged(const struct trace_input *input)
{
    return input->host && strncmp(input->host, "merge:", 6) == 0;
}

const char *trace_input_timeline(const struct trace_input *input)
{
    return trace_input_is_merged(input) ? "the timeline of strata merge"
                                        : "the host's monotonic clock";
}

static void put_relation(const struct facts *facts, const struct trace_input *input)
{
    const struct clock_map *clock_map = input->clock_map;
    bool merged = trace_input_is_merged(input);
    bool by_kvm =
        !merged && input->recorded && input->recorded->guest && input->recorded->guest->kvm;
    const char *timeline = trace_input_timeline(input);
    int64_t least = INT64_MAX, most;
    char text[160];

    if (input->on_host_clock && input->host_error_ns > 0) {
        snprintf(text, sizeof text, "%s (the same clock, within %.1f us)", timeline,
                 (double)input->host_error_ns / 1000);
        facts->put(facts->arg, "related to", text);
    } else if (input->on_host_clock) {
        snprintf(text, sizeof text, "%s (the same clock)", timeline);
        facts->put(facts->arg, "related to", text);
    }
    if (!clock_map)
        return;
    for (unsigned i = 0; i < clock_map->n; i++)
        least = MIN(least, clock_map->pairs[i].error_ns);
    most = clock_map_bound(clock_map, clock_map->pairs[0].ticks,
                           clock_map->pairs[clock_map->n - 1].ticks);
    snprintf(text, sizeof text, "%s, by %u %s%s%s, within %.1f to %.1f us", timeline,
             input->n_exchanges,
             merged   ? "pair"
             : by_kvm ? "reading"
                      : "exchange",
             input->n_exchanges == 1 ? "" : "s", by_kvm ? " from KVM" : "", (double)least / 1000,
             (double)most / 1000);
    facts->put(facts->arg, "related to", text);
}

bool trace_input_host_times(const struct trace_input *input, int64_t first, int64_t last,
                            struct trace_host_times *ret)
{
    if (input->on_host_clock)
        *ret = (struct trace_host_times){first, last, input->host_error_ns};
    else if (input->clock_map)
        *ret = (struct trace_host_times){
            clock_map_convert(input->clock_map, first, NULL),
            clock_map_convert(input->clock_map, last, NULL),
            clock_map_bound(input->clock_map, first, last),
        };
    return input->on_host_clock || input->clock_map;
}

int trace_input_facts(const struct trace_input *input,
                      void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct source *source = input->n_sources > 0 ? input->sources[0] : NULL;
    int error = 0;
    struct facts facts = {put, arg, &error};

    if (input->recorded)
        put_recorded(&facts, input->recorded);
    if (input->manifest && input->manifest->snapshot)
        put_snapshot(&facts, input->manifest->snapshot);
    if (!input->recorded && input->origin->pid_filter)
        put(arg, "filtered",
            input->origin->lost_uncounted ? "perhaps only certain threads, as its events show"
                                          : "only certain threads, as its events show");
    put_relation(&facts, input);
    if (input->origin->complete_from != 0) {
        struct text from = TEXT_IN_MEMORY;

        clock_put_time(&input->origin->clock, input->origin->complete_from, &from);
        put_text(&facts, "complete from", &from);
    }
    if (source && source->ops->facts)
        source->ops->facts(source, put, arg);
    return error;
}

const char *trace_input_domain(const struct trace_input *input, int32_t vcpu)
{
    const struct manifest_xen *xen = input->recorded ? input->recorded->xen : NULL;
    uint32_t domain = (uint32_t)vcpu >> 16; /* format/xentrace/xentrace.h */

    for (unsigned i = 0; xen && vcpu != VCPU_UNKNOWN && i < xen->n_domains; i++)
        if (xen->domains[i].id == domain && xen->domains[i].name && *xen->domains[i].name)
            return xen->domains[i].name;
    return NULL;
}
