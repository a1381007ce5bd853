/* SPDX-License-Identifier: MIT */
/* Rules of spans as users write them (analysis/spans/span_rule.h). The input is a file of rules; what follows its first NUL
 * are events that go through the spans of all rules that are valid. Of each span that began, one thing becomes. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spans/span_match.h"
#include "analysis/spans/spans.h"
#include "base/macro.h"
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NUMBER(field, at)                                                                   \
    {                                                                                       \
        .name = (field), .c_type = "u64", .type = FIELD_UINT, .size = 8, .offset = 8 * (at) \
    }

static const struct field fields[] = {
    NUMBER("id", 0),
    NUMBER("b", 1),
    {.name = "s",
     .c_type = "char[]",
     .type = FIELD_STRING,
     .storage = STORE_ARRAY,
     .size = 8,
     .offset = 16},
};

struct payload {
    uint64_t id, b;
    char s[8];
};

static const struct {
    enum layer layer;
    const char *group, *name;
} classes[] = {
    {LAYER_GUEST, "g", "x_entry"},
    {LAYER_GUEST, "g", "x_exit"},
    {LAYER_GUEST, "g", "y_entry"},
    {LAYER_GUEST, "g", "y_exit"},
    {LAYER_VMM, NULL, "begin"},
    {LAYER_VMM, NULL, "end"},
    {LAYER_GUEST, "sched", "sched_process_exit"},
};

struct counts {
    uint64_t begun, complete, incomplete;
};

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct counts *counts = arg;

    (void)kind, (void)item;
    return ++counts->begun;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct counts *counts = arg;

    (void)item;
    if (span_begin(span) == TIME_UNKNOWN || span_end(span) == TIME_UNKNOWN)
        abort();
    counts->complete++;
    return 0;
}

static void incomplete(void *arg, const struct span *span, enum span_fate fate)
{
    struct counts *counts = arg;

    if (fate == SPAN_COMPLETE || fate == SPAN_NO_BEGIN || fate == SPAN_UNKEYED || span->tag == 0)
        abort();
    counts->incomplete++;
}

static int put_items(struct spans *spans, const struct catalogue *catalogue, struct bytes *bytes)
{
    int64_t time = 0;
    int r = 0;

    while (bytes->next < bytes->end && r == 0) {
        unsigned what = take(bytes, 1);
        const struct event_class *class = catalogue->classes[what % ARRAY_SIZE(classes)];
        struct payload payload = {.id = take(bytes, 1) & 7, .b = take(bytes, 1) & 1};
        unsigned where = take(bytes, 1);
        struct item item = {.kind = ITEM_EVENT,
                            .origin = class->origin,
                            .class = class,
                            .payload = (const uint8_t *)&payload,
                            .size = sizeof payload,
                            .time = time += where >> 4,
                            .cpu = (int32_t)(where & 3) - 1,
                            .pid = (int32_t)(where >> 2 & 3) - 1,
                            .vcpu = (int32_t)(where & 1),
                            .error_ns = what & 8 ? 20 : 0};

        if (what >= 240)
            item = (struct item){.kind = ITEM_LOSS,
                                 .origin = class->origin,
                                 .lost = 3,
                                 .since = TIME_UNKNOWN,
                                 .time = time,
                                 .cpu = item.cpu,
                                 .pid = PID_UNKNOWN,
                                 .vcpu = VCPU_UNKNOWN};
        payload.s[0] = (char)('a' + (payload.id & 1));
        r = spans_put(spans, &item, 1);
    }
    return r;
}

static void run(const struct span_rule_list *list, struct bytes *bytes)
{
    static const struct spans_ops ops = {
        .begin = begin, .complete = complete, .incomplete = incomplete};
    struct catalogue catalogue = {0};
    struct origin *origins[2] = {NULL, NULL};
    struct span_rule_list valid = {0};
    struct spans spans = {0};
    struct counts counts = {0};
    struct error error = {0};
    bool ok = true;

    for (unsigned i = 0; i < 2; i++) {
        struct origin origin = {.layer = i ? LAYER_VMM : LAYER_GUEST,
                                .format = "made",
                                .path = "t",
                                .clock = {"monotonic", NANOSECONDS}};

        origins[i] = catalogue_add_origin(&catalogue, &origin);
        ok = ok && origins[i];
    }
    for (unsigned i = 0; i < ARRAY_SIZE(classes) && ok; i++) {
        struct event_class class = {.name = classes[i].name,
                                    .group = classes[i].group,
                                    .origin = origins[classes[i].layer == LAYER_VMM],
                                    .fields = fields,
                                    .n_fields = ARRAY_SIZE(fields)};
        struct event_class *added;

        ok = catalogue_add(&catalogue, &class, &added) == 0;
    }
    for (unsigned i = 0; i < list->n && ok; i++) {
        int r = span_rule_check(&list->rules[i], &catalogue, &error);

        if (r == 0)
            ok = span_rule_list_add(&valid, &list->rules[i]) == 0;
        else if (r != -ENOMEM && error.what[0] == '\0')
            abort();
    }
    if (ok && spans_init(&spans, &catalogue, valid.rules, valid.n, &ops, &counts) == 0 &&
        put_items(&spans, &catalogue, bytes) == 0) {
        spans_finish(&spans);
        if (counts.begun != counts.complete + counts.incomplete)
            abort();
    }
    spans_done(&spans);
    span_rule_list_done(&valid);
    catalogue_done(&catalogue);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t len = nul ? (size_t)(nul - data) : size;
    struct bytes bytes = {.next = data + len, .end = data + size};
    struct span_rule_list list = {0};
    struct arena arena = {0};
    struct error error = {0};
    int r;

    if (len > 4096)
        return 0;
    r = span_rules_read((const char *)data, len, "rules", &arena, &list, &error);
    if (r < 0 && error.what[0] == '\0' && r != -ENOMEM)
        abort();
    for (unsigned i = 0; i < list.n; i++)
        if (!list.rules[i].name || list.rules[i].n_steps < 2 ||
            list.rules[i].n_steps > SPAN_STEPS || list.rules[i].n_keys > SPAN_KEYS)
            abort();
    run(&list, &bytes);
    span_rule_list_done(&list);
    arena_done(&arena);
    return 0;
}
