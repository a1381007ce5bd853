/* SPDX-License-Identifier: MIT */
#include "report/summary_part.h"

#include <errno.h>
#include <string.h>

#include "analysis/event_sets.h"
#include "base/macro.h"

const struct summary_part_info summary_parts[SUMMARY_PARTS] = {
#define COLUMNS(...)      \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }
    [SUMMARY_CPUS] = {"CPUs", "sched --by cpu", "sched", 1,
                      COLUMNS("busy_share", "interrupt_share", "idle_share", "unknown_share",
                              "runs")},
    [SUMMARY_VCPUS] = {"vCPUs", "sched --by vcpu", NULL, 1,
                       COLUMNS("run_share", "wait_share", "sleep_share", "unknown_share",
                               "wake_p99", "preempt_n", "preempt_sum", "preempt_max", "guest_share",
                               "vmm_share", "stolen_share", "stolen_unknown_share",
                               "halted_share")},
    [SUMMARY_DOMAINS] = {"Domains", "sched --by domain", NULL, 1,
                         COLUMNS("cpu_share", "run_share", "wait_share", "sleep_share",
                                 "unknown_share", "wake_p99", "preempt_n", "preempt_sum",
                                 "preempt_max")},
    [SUMMARY_TASKS] = {"Tasks", "sched", NULL, 1,
                       COLUMNS("run_share", "wait_share", "sleep_share", "unknown_share", "runs",
                               "wake_p50", "wake_p99", "wake_max", "preempt_n")},
    [SUMMARY_EXITS] = {"VM exits", "exits", "exits", 1,
                       COLUMNS("n", "rate", "sum", "share", "p50", "p99", "max", "error", "run",
                               "wait", "sleep")},
    [SUMMARY_PATH] = {"Causes of the time of requests", "path", NULL, 1,
                      COLUMNS("n", "sum", "p50", "p99", "max", "error", "part", "slow_part",
                              "rest_part")},
    [SUMMARY_IO] = {"Requests to disks, by stage", "io", "io", 2,
                    COLUMNS("n", "rate", "sum", "p50", "p99", "max", "error", "part")},
    [SUMMARY_IRQ] = {"Interrupts", "irq", "irq", 1,
                     COLUMNS("n", "rate", "sum", "share", "p50", "p99", "max", "error",
                             "delay_p99")},
    [SUMMARY_LATENCY] = {"Latencies", "latency", NULL, 1,
                         COLUMNS("n", "rate", "sum", "p50", "p99", "max", "error")},
};

bool summary_has_loss(const struct summary *summary, const struct rates *rates,
                      const struct losses *losses, unsigned from, unsigned n)
{
    int64_t begin = (int64_t)((uint64_t)rates->begin + ((uint64_t)from << rates->shift));
    int64_t end = (int64_t)((uint64_t)begin + ((uint64_t)n << rates->shift) - 1);

    return losses->n > 0 && coverage_has_loss(&summary->coverage, begin, end);
}

bool summary_is_shown(const struct summary *summary, unsigned part)
{
    const struct result *result = &summary->results[part];
    bool has_threads = part != SUMMARY_TASKS;

    for (unsigned i = 0; i < result->n_rows && !has_threads; i++)
        has_threads = result->rows[i]->has_number != 0;
    return result->n_rows > 0 && has_threads;
}

static bool has_note(const struct result *result, const char *note)
{
    for (unsigned i = 0; i < result->n_notes; i++)
        if (strcmp(result->notes[i], note) == 0)
            return true;
    return false;
}

/* True if FINDINGS or an earlier part's text says the same as the note. */
static bool was_shown(const struct summary *summary, const struct findings *findings, unsigned part,
                      const char *note)
{
    for (unsigned i = 0; i < findings->n; i++)
        if (strcmp(findings->items[i].text, note) == 0)
            return true;
    for (unsigned i = 0; i < part; i++)
        if (summary_is_shown(summary, i) && has_note(&summary->results[i], note))
            return true;
    return false;
}

/* True if the results of the parts before PART have the note, too. */
static bool was_noted(const struct summary *summary, unsigned part, const char *note)
{
    for (unsigned i = 0; i < part; i++)
        if (has_note(&summary->results[i], note))
            return true;
    return false;
}

unsigned summary_find_notes(const struct summary *summary, const struct findings *findings,
                            unsigned part, const char **notes)
{
    const struct result *result = &summary->results[part];
    unsigned n = 0;

    for (unsigned i = 0; i < result->n_notes; i++)
        if (!was_shown(summary, findings, part, result->notes[i]))
            notes[n++] = result->notes[i];
    return n;
}

bool summary_has_footer(const struct summary *summary, unsigned part)
{
    return part == SUMMARY_CPUS || part > SUMMARY_TASKS || !summary_is_shown(summary, SUMMARY_CPUS);
}

bool summary_is_missing(const struct summary *summary, unsigned part)
{
    return summary_parts[part].analysis && !summary_has(summary, (enum summary_part)part);
}

/* True if the notes of PART say why it has no table. The notes of a shown part are below its table. */
static bool explains_missing(const struct summary *summary, unsigned part)
{
    return part != SUMMARY_DOMAINS && summary_has(summary, SUMMARY_CPUS) &&
           !summary_is_shown(summary, part) && !summary_is_missing(summary, part);
}

int summary_foreach_missing(const struct summary *summary, const struct catalogue *classes,
                            void (*put)(void *arg, const char *command, const char *text),
                            void *arg)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    for (unsigned i = 0; i < SUMMARY_PARTS; i++) {
        if (!summary_is_missing(summary, i))
            continue;
        text.next = text.start;
        event_set_put_missing(summary_parts[i].analysis, "", classes, &text);
        text_put_char(&text, '\0');
        if (text.error)
            return -ENOMEM;
        put(arg, summary_parts[i].analysis, text.start);
    }
    for (unsigned i = 0; i < SUMMARY_PARTS; i++) {
        const struct result *result = &summary->results[i];

        for (unsigned j = 0; explains_missing(summary, i) && j < result->n_notes; j++)
            if (!was_noted(summary, i, result->notes[j]))
                put(arg, summary_parts[i].command, result->notes[j]);
    }
    return 0;
}

void summary_put_system(void *arg, const char *key, const char *value)
{
    static const char *const words[][2] = {
        {"release", "Linux "}, {"monitor version", "QEMU "}, {"hypervisor", ""}};
    struct text *text = arg;

    for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(key, words[i][0]) == 0)
            text_printf(text, "%s%s%s", text_len(text) > 0 ? ", " : "", words[i][1], value);
}
