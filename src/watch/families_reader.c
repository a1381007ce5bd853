/* SPDX-License-Identifier: MIT */
/* The recorder's side. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "metrics/update.h"
#include "watch/families.h"
#include "watch/families_lines.h"

/* Bytes of updates in a window; a family of 4,096 samples has less. */
#define UPDATES_MAX ((size_t)8 << 20)
#define NS_PER_S 1e9
#define CPU_MAX UINT64_C(1000000000000000)

const char *const families_result_names[FAMILIES_RESULTS] = {[FAMILIES_OK] = "ok",
                                                             [FAMILIES_LATE] = "late",
                                                             [FAMILIES_PARTIAL] = "partial",
                                                             [FAMILIES_FAILED] = "failed",
                                                             [FAMILIES_IDLE] = "idle"};

static const char *const result_label[] = {"result"};

struct families_reader {
    struct metrics *metrics;
    struct metric_family *delay;
    struct metric_sample *windows[FAMILIES_RESULTS], *cpu, *restarts;
    struct text updates;
    bool has_started, is_open, is_bad;
    int64_t to; /* end of the last window; 0 before the first */
};

static int add_families(struct families_reader *reader)
{
    struct metric_family *family[FAMILIES], *windows, *cpu, *restarts;
    const struct {
        struct metric_family **family;
        struct metric_desc desc;
    } families[] = {
        {&windows,
         {.type = METRIC_COUNTER,
          .name = "strata_analysis_windows",
          .help = "Windows of time whose events were read for the metrics of analyses",
          .labels = result_label,
          .n_labels = 1}},
        {&reader->delay,
         {.type = METRIC_GAUGE,
          .name = "strata_analysis_delay_seconds",
          .unit = "seconds",
          .help = "How long ago the last window ended that was read"}},
        {&cpu,
         {.type = METRIC_COUNTER,
          .name = "strata_analysis_cpu_seconds",
          .unit = "seconds",
          .help = "CPU time of the process that reads the windows"}},
        {&restarts,
         {.type = METRIC_COUNTER,
          .name = "strata_analysis_restarts",
          .help = "How often the process that reads the windows was started again"}},
    };
    int r = 0;

    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(families); i++)
        r = metrics_add(reader->metrics, &families[i].desc, families[i].family);
    for (unsigned i = 0; r >= 0 && i < FAMILIES_RESULTS; i++)
        r = metric_sample(windows, &families_result_names[i], &reader->windows[i]);
    if (r >= 0)
        r = metric_sample(cpu, NULL, &reader->cpu);
    if (r >= 0)
        r = metric_sample(restarts, NULL, &reader->restarts);
    return r < 0 ? r : families_add(reader->metrics, family);
}

int families_reader_new(struct metrics *metrics, struct families_reader **ret)
{
    struct families_reader *reader = calloc(1, sizeof *reader);
    int r;

    if (!reader)
        return -ENOMEM;
    reader->metrics = metrics;
    reader->updates = TEXT_IN_MEMORY;
    r = add_families(reader);
    if (r < 0) {
        free(reader);
        return r;
    }
    *ret = reader;
    return 0;
}

void families_reader_free(struct families_reader *reader)
{
    if (!reader)
        return;
    text_done(&reader->updates);
    free(reader);
}

static void forget_window(struct families_reader *reader)
{
    text_done(&reader->updates);
    reader->updates = TEXT_IN_MEMORY;
    reader->is_open = reader->is_bad = false;
}

/* "RESULT FROM TO CPU" */
static bool read_end(const char *line, enum families_result *ret_result, int64_t *ret_to,
                     uint64_t *ret_cpu)
{
    char name[16], rest;
    int64_t from;

    if (sscanf(line, "%15s %" SCNd64 " %" SCNd64 " %" SCNu64 "%c", name, &from, ret_to, ret_cpu,
               &rest) != 4 ||
        *ret_cpu > CPU_MAX || *ret_to < 0)
        return false;
    for (unsigned i = 0; i < FAMILIES_RESULTS; i++)
        if (strcmp(families_result_names[i], name) == 0) {
            *ret_result = (enum families_result)i;
            return true;
        }
    return false;
}

static bool end_window(struct families_reader *reader, const char *line)
{
    enum families_result result;
    uint64_t cpu;
    int64_t to;

    if (!reader->is_open || !read_end(line, &result, &to, &cpu)) {
        forget_window(reader);
        return false;
    }
    if (reader->is_bad || reader->updates.error ||
        metrics_read_updates(reader->metrics, reader->updates.start ? reader->updates.start : "",
                             text_len(&reader->updates), NULL) < 0)
        result = FAMILIES_FAILED;
    metric_add(reader->windows[result], 1);
    metric_add(reader->cpu, (double)cpu / NS_PER_S);
    if (result != FAMILIES_FAILED)
        reader->to = to;
    forget_window(reader);
    return true;
}

bool families_reader_line(struct families_reader *reader, const char *line)
{
    size_t len = strlen(line);

    if (strcmp(line, "start") == 0) {
        forget_window(reader);
        metric_add(reader->restarts, reader->has_started ? 1 : 0);
        reader->has_started = true;
        return true;
    }
    if (strcmp(line, "begin") == 0) {
        forget_window(reader);
        reader->is_open = true;
        return true;
    }
    if (strncmp(line, "end ", 4) == 0)
        return end_window(reader, line + 4);
    if (strncmp(line, "add ", 4) != 0 || !reader->is_open ||
        text_len(&reader->updates) + len > UPDATES_MAX) {
        reader->is_bad = true;
        return false;
    }
    text_put(&reader->updates, line + 4, len - 4);
    text_put_char(&reader->updates, '\n');
    return true;
}

void families_reader_collect(struct families_reader *reader, uint64_t now)
{
    struct metric_sample *delay;

    if (reader->to > 0 && metric_sample(reader->delay, NULL, &delay) >= 0)
        metric_set(delay, now > (uint64_t)reader->to
                              ? (double)(now - (uint64_t)reader->to) / NS_PER_S
                              : 0);
}
