/* SPDX-License-Identifier: MIT */
#include "metrics/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "metrics/internal.h"

int metrics_new(struct metrics **ret)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);

    if (!metrics)
        return -ENOMEM;
    *ret = metrics;
    return 0;
}

static void free_sample(struct metric_sample *sample)
{
    if (!sample)
        return;
    free(sample->values[0]);
    free(sample);
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (unsigned i = 0; i < metrics->n; i++) {
        struct metric_family *family = metrics->families[i];

        for (unsigned j = 0; j < family->n; j++)
            free_sample(family->samples[j]);
        free_sample(family->other);
        free(family->samples);
        free(family);
    }
    free(metrics->families);
    free(metrics);
}

/* ---- Families ---- */

static bool is_name(const char *s, bool may_have_colons)
{
    if (*s == '\0' || (*s >= '0' && *s <= '9'))
        return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
              *s == '_' || (may_have_colons && *s == ':')))
            return false;
    return true;
}

static bool ends_with(const char *s, const char *end)
{
    size_t len = strlen(s), end_len = strlen(end);

    return len > end_len && s[len - end_len - 1] == '_' && strcmp(s + len - end_len, end) == 0;
}

static bool is_valid(const struct metric_desc *desc)
{
    if (!is_name(desc->name, true) || !desc->help || desc->n_labels > METRIC_LABELS_MAX ||
        ends_with(desc->name, "total"))
        return false;
    if (desc->unit && (!is_name(desc->unit, false) || !ends_with(desc->name, desc->unit)))
        return false;
    for (unsigned i = 0; i < desc->n_labels; i++)
        if (!is_name(desc->labels[i], false) || strcmp(desc->labels[i], "le") == 0)
            return false;
    if ((desc->type == METRIC_HISTOGRAM) != (desc->n_bounds > 0))
        return false;
    for (unsigned i = 0; i < desc->n_bounds; i++)
        if (!isfinite(desc->bounds[i]) || (i > 0 && desc->bounds[i] <= desc->bounds[i - 1]))
            return false;
    return true;
}

int metrics_add(struct metrics *metrics, const struct metric_desc *desc, struct metric_family **ret)
{
    struct metric_family **bigger;
    struct metric_family *family;

    if (!is_valid(desc))
        return -EINVAL;
    for (unsigned i = 0; i < metrics->n; i++)
        if (strcmp(metrics->families[i]->desc.name, desc->name) == 0)
            return -EEXIST;
    bigger = realloc(metrics->families, (metrics->n + 1) * sizeof(struct metric_family *));
    if (!bigger)
        return -ENOMEM;
    metrics->families = bigger;
    family = calloc(1, sizeof *family);
    if (!family)
        return -ENOMEM;
    family->desc = *desc;
    family->max = desc->max_samples > 0 ? desc->max_samples : METRIC_SAMPLES_DEFAULT;
    metrics->families[metrics->n++] = family;
    *ret = family;
    return 0;
}

/* ---- Samples ---- */

static uint64_t hash_values(const struct metric_family *family, const char *const *values)
{
    uint64_t hash = 0;

    for (unsigned i = 0; i < family->desc.n_labels; i++)
        hash = hash_mix(hash, hash_bytes(values[i], strlen(values[i])));
    return hash;
}

static bool has_values(const struct metric_sample *sample, const char *const *values)
{
    for (unsigned i = 0; i < sample->family->desc.n_labels; i++)
        if (strcmp(sample->values[i], values[i]) != 0)
            return false;
    return true;
}

/* True if VALUES are the values of the sample beyond the limit. They then mean that sample, because no series may be
 * printed twice. */
static bool are_other(const struct metric_family *family, const char *const *values)
{
    if (family->desc.type == METRIC_GAUGE || family->desc.n_labels == 0)
        return false;
    for (unsigned i = 0; i < family->desc.n_labels; i++)
        if (strcmp(values[i], "other") != 0)
            return false;
    return true;
}

/* -ENOMEM. */
static int new_sample(const struct metric_family *family, const char *const *values,
                      struct metric_sample **ret)
{
    unsigned n_labels = family->desc.n_labels;
    size_t n_buckets = family->desc.type == METRIC_HISTOGRAM ? family->desc.n_bounds + 1 : 0;
    struct metric_sample *sample = calloc(1, sizeof *sample + n_buckets * sizeof(uint64_t));
    size_t size = 1;
    char *text;

    for (unsigned i = 0; i < n_labels; i++)
        size += strlen(values[i]) + 1;
    text = malloc(size);
    if (!sample || !text) {
        free(text);
        free(sample);
        return -ENOMEM;
    }
    sample->family = family;
    sample->values[0] = text;
    for (unsigned i = 0; i < n_labels; i++) {
        size_t len = strlen(values[i]) + 1;

        sample->values[i] = memcpy(text, values[i], len);
        text += len;
    }
    *ret = sample;
    return 0;
}

/* The sample of what is beyond the limit. */
static int get_other(struct metric_family *family, struct metric_sample **ret)
{
    const char *values[METRIC_LABELS_MAX];
    int r = 0;

    for (unsigned i = 0; i < METRIC_LABELS_MAX; i++)
        values[i] = "other";
    if (!family->other)
        r = new_sample(family, values, &family->other);
    if (r < 0)
        return r;
    *ret = family->other;
    return 0;
}

int metric_sample(struct metric_family *family, const char *const *values,
                  struct metric_sample **ret)
{
    uint64_t hash = hash_values(family, values);
    struct metric_sample *sample;
    int r;

    for (unsigned i = 0; i < family->n; i++)
        if (family->samples[i]->hash == hash && has_values(family->samples[i], values)) {
            *ret = family->samples[i];
            return 0;
        }
    if (are_other(family, values))
        return get_other(family, ret);
    if (family->n >= family->max) {
        family->n_over_limit++;
        return get_other(family, ret);
    }
    if (family->n == family->room) {
        unsigned room = MAX(2 * family->room, 8u);
        struct metric_sample **bigger =
            realloc(family->samples, room * sizeof(struct metric_sample *));

        if (!bigger)
            return -ENOMEM;
        family->samples = bigger;
        family->room = room;
    }
    r = new_sample(family, values, &sample);
    if (r < 0)
        return r;
    sample->hash = hash;
    family->samples[family->n++] = sample;
    *ret = sample;
    return 0;
}

void metric_add(struct metric_sample *sample, double v)
{
    if (v > 0)
        sample->value += v;
}

void metric_add_since(struct metric_sample *sample, double total, double *last)
{
    metric_add(sample, total >= *last ? total - *last : total);
    *last = total;
}

void metric_set(struct metric_sample *gauge, double v)
{
    gauge->value = v;
}

void metric_observe(struct metric_sample *histogram, double v)
{
    const struct metric_desc *desc = &histogram->family->desc;
    unsigned low = 0, high = desc->n_bounds;

    if (isnan(v))
        return;
    while (low < high) { /* the first bound that is not below V */
        unsigned middle = low + (high - low) / 2;

        if (v <= desc->bounds[middle])
            high = middle;
        else
            low = middle + 1;
    }
    histogram->buckets[low]++;
    histogram->count++;
    histogram->value += v;
}

void metric_clear(struct metric_family *gauge)
{
    for (unsigned i = 0; i < gauge->n; i++)
        free_sample(gauge->samples[i]);
    gauge->n = 0;
}
