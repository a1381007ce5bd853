/* SPDX-License-Identifier: MIT */
#include "metrics/update.h"

#include <errno.h>
#include <math.h>

#include "base/number.h"
#include "metrics/internal.h"

/* The largest numbers of a line: their sums do not come near the end of 64 bits, and stay exact enough. */
#define COUNT_MAX (UINT64_C(1) << 48)
#define NUMBER_LIMIT 1e18

/* ---- Writing ---- */

static uint64_t bits_of(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The bytes of S that are at most METRIC_VALUE_MAX, without a part of a character at the end. */
static size_t value_len(const char *s)
{
    size_t len = strlen(s);

    if (len <= METRIC_VALUE_MAX)
        return len;
    len = METRIC_VALUE_MAX;
    while (len > 0 && ((unsigned char)s[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static void put_value(struct text *text, const char *s)
{
    size_t len = value_len(s);

    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\t')
            text_put_literal(text, "\\t");
        else if (s[i] == '\n')
            text_put_literal(text, "\\n");
        else if (s[i] == '\\')
            text_put_literal(text, "\\\\");
        else
            text_put_char(text, s[i]);
    }
}

static bool has_changed(const struct metric_sample *sample)
{
    return sample->family->desc.type == METRIC_HISTOGRAM ? sample->count > 0 : sample->value > 0;
}

static void put_number(struct text *text, uint64_t v)
{
    text_put_char(text, '\t');
    text_put_hex(text, v);
}

static void put_update(struct text *text, const struct metric_sample *sample)
{
    const struct metric_desc *desc = &sample->family->desc;

    text_put_str(text, desc->name);
    for (unsigned i = 0; i < desc->n_labels; i++) {
        text_put_char(text, '\t');
        put_value(text, sample->values[i]);
    }
    put_number(text, bits_of(sample->value));
    for (unsigned i = 0; desc->type == METRIC_HISTOGRAM && i <= desc->n_bounds; i++)
        put_number(text, sample->buckets[i]);
    text_put_char(text, '\n');
}

static void reset(struct metric_sample *sample)
{
    if (!sample)
        return;
    sample->value = 0;
    sample->count = 0;
    if (sample->family->desc.type == METRIC_HISTOGRAM)
        memset(sample->buckets, 0, (sample->family->desc.n_bounds + 1) * sizeof *sample->buckets);
}

static bool is_sent(const struct metric_family *family)
{
    return family->desc.type != METRIC_GAUGE && family->desc.n_bounds <= METRIC_UPDATE_BOUNDS_MAX;
}

void metrics_put_updates(struct metrics *metrics, struct text *text)
{
    for (unsigned i = 0; i < metrics->n; i++) {
        const struct metric_family *family = metrics->families[i];

        if (!is_sent(family))
            continue;
        for (unsigned j = 0; j < family->n; j++)
            if (has_changed(family->samples[j]))
                put_update(text, family->samples[j]);
        if (family->other && has_changed(family->other))
            put_update(text, family->other);
        if (family->n_over_limit > 0) {
            text_put_char(text, '+');
            text_put_str(text, family->desc.name);
            put_number(text, family->n_over_limit);
            text_put_char(text, '\n');
        }
    }
    if (text->error)
        return;
    for (unsigned i = 0; i < metrics->n; i++) {
        struct metric_family *family = metrics->families[i];

        if (!is_sent(family))
            continue;
        for (unsigned j = 0; j < family->n; j++)
            reset(family->samples[j]);
        reset(family->other);
        family->n_over_limit = 0;
    }
}

/* ---- Reading ---- */

/* What is left of a line. */
struct rest {
    const char *next, *end;
};

/* The next field. False: there is none. */
static bool next_field(struct rest *rest, struct rest *ret)
{
    const char *tab;

    if (!rest->next)
        return false;
    tab = memchr(rest->next, '\t', (size_t)(rest->end - rest->next));
    *ret = (struct rest){rest->next, tab ? tab : rest->end};
    rest->next = tab ? tab + 1 : NULL;
    return true;
}

static bool read_number(struct rest *rest, uint64_t *ret)
{
    struct rest field;
    uint64_t v = 0;

    if (!next_field(rest, &field) || field.next == field.end || field.end - field.next > 16)
        return false;
    for (const char *p = field.next; p < field.end; p++) {
        int digit = number_hex_digit(*p);

        if (digit < 0)
            return false;
        v = v << 4 | (unsigned)digit;
    }
    *ret = v;
    return true;
}

/* BUF: METRIC_VALUE_MAX + 1 bytes. */
static bool read_value(struct rest *rest, char *buf)
{
    struct rest field;
    size_t len = 0;

    if (!next_field(rest, &field))
        return false;
    for (const char *p = field.next; p < field.end; p++) {
        char c = *p;

        if (c == '\0' || len == METRIC_VALUE_MAX)
            return false;
        if (c == '\\') {
            if (++p == field.end || !strchr("tn\\", *p) || *p == '\0')
                return false;
            c = *p == 't' ? '\t' : *p == 'n' ? '\n' : '\\';
        }
        buf[len++] = c;
    }
    buf[len] = '\0';
    return true;
}

static struct metric_family *find_family(const struct metrics *metrics, const struct rest *name)
{
    size_t len = (size_t)(name->end - name->next);

    for (unsigned i = 0; i < metrics->n; i++) {
        const char *other = metrics->families[i]->desc.name;

        if (strlen(other) == len && memcmp(other, name->next, len) == 0)
            return is_sent(metrics->families[i]) ? metrics->families[i] : NULL;
    }
    return NULL;
}

/* What a line says. */
struct update {
    struct metric_family *family;
    bool is_over_limit;
    uint64_t over_limit, count;
    double value;
    uint64_t buckets[METRIC_UPDATE_BOUNDS_MAX + 1];
    char values[METRIC_LABELS_MAX][METRIC_VALUE_MAX + 1];
};

static bool read_counts(struct rest *rest, struct update *update)
{
    const struct metric_desc *desc = &update->family->desc;
    uint64_t bits;

    if (!read_number(rest, &bits))
        return false;
    memcpy(&update->value, &bits, sizeof bits);
    /* Of a histogram, the sum of durations between two clocks may be below 0. */
    if (!(fabs(update->value) <= NUMBER_LIMIT) ||
        (desc->type == METRIC_COUNTER && update->value < 0))
        return false;
    update->count = 0;
    for (unsigned i = 0; desc->type == METRIC_HISTOGRAM && i <= desc->n_bounds; i++) {
        if (!read_number(rest, &update->buckets[i]) || update->buckets[i] > COUNT_MAX)
            return false;
        update->count += update->buckets[i];
    }
    return true;
}

static bool read_update(const struct metrics *metrics, const char *line, size_t len,
                        struct update *ret)
{
    struct rest rest = {line, line + len}, name;

    ret->is_over_limit = len > 0 && *line == '+';
    rest.next += ret->is_over_limit;
    if (!next_field(&rest, &name))
        return false;
    ret->family = find_family(metrics, &name);
    if (!ret->family)
        return false;
    if (ret->is_over_limit)
        return read_number(&rest, &ret->over_limit) && ret->over_limit <= COUNT_MAX && !rest.next;
    for (unsigned i = 0; i < ret->family->desc.n_labels; i++)
        if (!read_value(&rest, ret->values[i]))
            return false;
    return read_counts(&rest, ret) && !rest.next;
}

static int apply(const struct update *update)
{
    const struct metric_desc *desc = &update->family->desc;
    const char *values[METRIC_LABELS_MAX];
    struct metric_sample *sample;
    int r;

    if (update->is_over_limit) {
        update->family->n_over_limit += update->over_limit;
        return 0;
    }
    for (unsigned i = 0; i < desc->n_labels; i++)
        values[i] = update->values[i];
    r = metric_sample(update->family, values, &sample);
    if (r < 0)
        return r;
    sample->value += update->value;
    sample->count += update->count;
    for (unsigned i = 0; desc->type == METRIC_HISTOGRAM && i <= desc->n_bounds; i++)
        sample->buckets[i] += update->buckets[i];
    return 0;
}

int metrics_read_updates(struct metrics *metrics, const char *text, size_t len, struct error *error)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        uint32_t number = 1;

        for (size_t at = 0; at < len; number++) {
            const char *end = memchr(text + at, '\n', len - at);
            struct update update;
            int r;

            if (!end || !read_update(metrics, text + at, (size_t)(end - text) - at, &update))
                return error_on_line(error, -EINVAL, NULL, number, "not an update of metrics");
            r = pass == 0 ? 0 : apply(&update);
            if (r < 0)
                return r;
            at = (size_t)(end - text) + 1;
        }
    }
    return 0;
}
