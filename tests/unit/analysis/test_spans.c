/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "analysis/coverage/source_ends.h"
#include "analysis/spans/span_match.h"
#include "analysis/spans/spans.h"
#include "base/macro.h"
#include "event/clock_error.h"
#include "random.h"

/* ---- a world of classes with numbers as fields, and a record of what became of spans ---- */

#define NUMBER(field, at)                                                                         \
    {                                                                                             \
        .name = (field), .c_type = "uint64_t", .type = FIELD_UINT, .offset = 8 * (at), .size = 8, \
    }

static const struct field fields[] = {
    NUMBER("id", 0),
    NUMBER("other", 1),
    {.name = "name",
     .c_type = "char[]",
     .type = FIELD_STRING,
     .storage = STORE_ARRAY,
     .size = 8,
     .offset = 16},
};

static const struct field leave_fields[] = {NUMBER("prev_pid", 0), NUMBER("prev_state", 1)};

struct payload {
    uint64_t id, other;
    char name[8];
};

#define DONE_MAX 200000

struct done {
    uint64_t begin, end; /* numbers of items, which are their times */
    int64_t until;       /* of one that is not complete: it is known to be open until then */
    enum span_fate fate;
    char kind[32];
};

struct world {
    struct catalogue catalogue;
    struct origin *guest, *vmm;
    struct event_class *begin, *middle, *end, *other_begin, *other_end, *handle, *exits, *leaves;
    struct arena arena;
    struct span_rule_list rules;
    struct spans spans;
    struct source_ends ends;
    struct error error;
    struct done *done;
    unsigned n_done;
    uint32_t error_ns; /* of the last */
    bool unsteady;     /* of what is put */
    uint64_t tag;
};

static struct event_class *add(struct world *world, struct origin *origin, const char *name)
{
    struct event_class class = {.name = name,
                                .group = "made",
                                .origin = origin,
                                .fields = fields,
                                .n_fields = ARRAY_SIZE(fields)};
    struct event_class *added;

    if (strncmp(name, "sched_", 6) == 0)
        class.group = "sched";
    if (strcmp(name, "sched_switch") == 0) {
        class.fields = leave_fields;
        class.n_fields = ARRAY_SIZE(leave_fields);
    }
    assert_int_equal(catalogue_add(&world->catalogue, &class, &added), 0);
    return added;
}

static void note(struct world *world, const struct span *span, enum span_fate fate)
{
    struct done *done = &world->done[world->n_done++];

    assert_true(world->n_done <= DONE_MAX);
    *done = (struct done){
        .begin = (uint64_t)span_begin(span), .end = (uint64_t)span_end(span), .fate = fate};
    snprintf(done->kind, sizeof done->kind, "%s", span->kind->name);
    world->error_ns = span->error_ns;
    world->tag = span->tag;
}

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    assert_non_null(kind->rule);
    return (uint64_t)item->time * 3;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    note(arg, span, SPAN_COMPLETE);
    assert_int_equal(span->tag, (uint64_t)span_begin(span) * 3);
    assert_true(item->time == span_end(span) || item->time == span_begin(span));
    return 0;
}

static void incomplete(void *arg, const struct span *span, enum span_fate fate)
{
    struct world *w = arg;

    note(w, span, fate);
    w->done[w->n_done - 1].until = source_ends_find_open(&w->ends, &w->spans, span).time;
}

static const struct spans_ops ops = {begin, complete, incomplete};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct origin origin = {
        .layer = LAYER_GUEST, .format = "made", .path = "g", .clock = {"monotonic", NANOSECONDS}};

    w->guest = catalogue_add_origin(&w->catalogue, &origin);
    origin.layer = LAYER_VMM;
    w->vmm = catalogue_add_origin(&w->catalogue, &origin);
    w->begin = add(w, w->guest, "a_begin");
    w->middle = add(w, w->guest, "a_middle");
    w->end = add(w, w->guest, "a_end");
    w->other_begin = add(w, w->guest, "b_begin");
    w->other_end = add(w, w->guest, "b_end");
    w->handle = add(w, w->vmm, "handle");
    w->exits = add(w, w->guest, "sched_process_exit");
    w->leaves = add(w, w->guest, "sched_switch");
    w->done = calloc(DONE_MAX, sizeof *w->done);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    spans_done(&w->spans);
    source_ends_done(&w->ends);
    span_rule_list_done(&w->rules);
    arena_done(&w->arena);
    catalogue_done(&w->catalogue);
    free(w->done);
    free(w);
    return 0;
}

static void use(struct world *w, const char *text)
{
    struct span_rule rule;
    int r = span_rule_parse(text, "test", &w->arena, &rule, &w->error);

    if (r < 0)
        fail_msg("%s", w->error.what);
    assert_int_equal(span_rule_list_add(&w->rules, &rule), 0);
}

static void start(struct world *w)
{
    assert_int_equal(spans_init(&w->spans, &w->catalogue, w->rules.rules, w->rules.n, &ops, w), 0);
}

static void put(struct world *w, const struct event_class *class, int64_t time, int32_t cpu,
                int32_t pid, uint64_t id)
{
    struct payload payload = {.id = id, .other = id + 1};
    struct item item = {.kind = ITEM_EVENT,
                        .time = time,
                        .origin = class->origin,
                        .class = class,
                        .payload = (uint8_t *)&payload,
                        .size = sizeof payload,
                        .cpu = cpu,
                        .pid = pid,
                        .vcpu = VCPU_UNKNOWN,
                        .error_ns = class->origin == w->guest ? 50 : 0,
                        .clock_part = w->unsteady ? CLOCK_UNSTEADY : 0};

    snprintf(payload.name, sizeof payload.name, "n%u", (unsigned)(id % 1000000));
    assert_int_equal(spans_put(&w->spans, &item, 1), 0);
}

static void lose(struct world *w, const struct origin *origin, int64_t time, int32_t cpu)
{
    struct item item = {.kind = ITEM_LOSS,
                        .time = time,
                        .origin = origin,
                        .lost = 3,
                        .since = time - 1,
                        .cpu = cpu,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    assert_int_equal(spans_put(&w->spans, &item, 1), 0);
}

/* An event after which its CPU loses events, up to the next lose(). */
static void put_before_loss(struct world *w, const struct event_class *class, int64_t time,
                            int32_t cpu, int32_t pid)
{
    struct payload payload = {.id = 1};
    struct item item = {.kind = ITEM_EVENT,
                        .time = time,
                        .origin = class->origin,
                        .class = class,
                        .payload = (uint8_t *)&payload,
                        .size = sizeof payload,
                        .cpu = cpu,
                        .pid = pid,
                        .vcpu = VCPU_UNKNOWN,
                        .before_loss = true};

    assert_int_equal(spans_put(&w->spans, &item, 1), 0);
}

/* What came of all, as "BEGIN-END" or "BEGIN FATE", in order. */
static void expect(struct world *w, const char *expected)
{
    char text[2000] = "";
    size_t n = 0;

    for (unsigned i = 0; i < w->n_done; i++) {
        const struct done *done = &w->done[i];

        if (done->fate == SPAN_COMPLETE)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d-%d", n > 0 ? ", " : "",
                                  (int)done->begin, (int)done->end);
        else
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%d %s", n > 0 ? ", " : "",
                                  (int)done->begin, span_fate_name(done->fate));
    }
    assert_string_equal(text, expected);
}

static uint64_t fate(const struct world *w, enum span_fate which)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < w->spans.n_kinds; i++)
        n += w->spans.kinds[i]->fates[which];
    return n;
}

/* ---- rules as text ---- */

static void test_rules(void **state)
{
    struct world *w = *state;
    struct span_rule rule;

    assert_int_equal(
        span_rule_parse(
            "kick: guest:block:rq_issue(sector, nr&0xff, task) -> vmm:handle_*(sector,n>>3,cpu)? "
            "-> done(a,b,vcpu) by thread again=queue unique",
            NULL, &w->arena, &rule, &w->error),
        0);
    assert_string_equal(rule.name, "kick");
    assert_int_equal(rule.n_steps, 3);
    assert_int_equal(rule.n_keys, 3);
    assert_int_equal(rule.steps[0].layers, 1u << LAYER_GUEST);
    assert_string_equal(rule.steps[0].group, "block");
    assert_string_equal(rule.steps[0].event, "rq_issue");
    assert_int_equal(rule.steps[0].keys[1].mask, 0xff);
    assert_int_equal(rule.steps[0].keys[2].kind, SPAN_KEY_TASK);
    assert_null(rule.steps[1].group);
    assert_int_equal(rule.steps[1].layers, 1u << LAYER_VMM);
    assert_int_equal(rule.steps[1].keys[1].shift, 3);
    assert_true(rule.steps[1].optional);
    assert_int_equal(rule.steps[2].keys[2].kind, SPAN_KEY_VCPU);
    assert_int_equal(rule.place, SPAN_ON_THREAD);
    assert_int_equal(rule.again, SPAN_AGAIN_QUEUE);
    assert_true(rule.unique);
    assert_int_equal(span_rule_parse("a->b", NULL, &w->arena, &rule, &w->error), 0);
    assert_string_equal(rule.name, "a -> b");
    assert_int_equal(span_rule_parse("sched:a-b -> b", NULL, &w->arena, &rule, &w->error), 0);
    assert_string_equal(rule.steps[0].group, "sched");
    assert_string_equal(rule.steps[0].event, "a-b");
}

static void test_bad_rules(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *text, *what;
    } bad[] = {
        {"", "column 1: an event should stand here; ''"},
        {"a", "column 2: '->' and the event that ends it should stand here; 'a'"},
        {"a ->", "column 5: an event should stand here; 'a ->'"},
        {"a(x) -> b", "column 8: all steps must have the same number of keys; 'a(x) -> b'"},
        {"a(x -> b", "column 5: ',' or ')' should stand here; 'a(x -> b'"},
        {"a -> b by", "column 8: '->', 'by', 'again=' or 'unique' should stand here; 'a -> b by'"},
        {"a -> b by x", "column 11: 'by' requires cpu, thread or vcpu; 'a -> b by x'"},
        {"a -> b again=x",
         "column 14: 'again' requires cut, first, nest, queue or replace; 'a -> b again=x'"},
        {"x:y:a -> b",
         "column 1: the layers are vmm, hypervisor, guest, host and program; 'x:y:a -> b'"},
        {"a*b* -> b", "column 1: an event has one '*' at most; 'a*b* -> b'"},
        {"a? -> b", "column 1: the first and the last step cannot be missing; 'a? -> b'"},
        {"a(x&0) -> b(x)", "column 4: a mask of 0 leaves nothing; 'a(x&0) -> b(x)'"},
        {"a(x>>64) -> b(x)", "column 4: a field has 64 bits at most; 'a(x>>64) -> b(x)'"},
        {"a(v,w,x,y,z) -> b", "column 11: a step has at most 4 keys; 'a(v,w,x,y,z) -> b'"},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error error = {0};
        struct span_rule rule;

        assert_int_equal(span_rule_parse(bad[i].text, "-p", &w->arena, &rule, &error), -EINVAL);
        assert_string_equal(error.what, bad[i].what);
        assert_string_equal(error.path, "-p");
    }
}

static void test_file_of_rules(void **state)
{
    static const char text[] = "# mine\n\none: a -> b # this\r\n two: c -> d by cpu";
    static const char bad[] = "a -> b\n\nc ->\n";
    struct world *w = *state;

    assert_int_equal(span_rules_read(text, sizeof text - 1, "f", &w->arena, &w->rules, &w->error),
                     0);
    assert_int_equal(w->rules.n, 2);
    assert_string_equal(w->rules.rules[0].name, "one");
    assert_string_equal(w->rules.rules[1].name, "two");
    assert_int_equal(span_rules_read(bad, sizeof bad - 1, "f", &w->arena, &w->rules, &w->error),
                     -EINVAL);
    assert_int_equal(w->error.line, 3);
    assert_string_equal(w->error.path, "f");
}

static void test_builtin_rules(void **state)
{
    struct world *w = *state;
    struct span_rule rule;

    for (const struct span_builtin *b = span_builtins; b->rule; b++) {
        if (span_rule_parse(b->rule, NULL, &w->arena, &rule, &w->error) < 0)
            fail_msg("%s", w->error.what);
        assert_null(strchr(rule.name, '>'));
        assert_non_null(b->about);
    }
}

static void test_check(void **state)
{
    struct world *w = *state;
    struct error error = {0};

    use(w, "guest:a_begin(id) -> a_end(id)");
    assert_int_equal(span_rule_check(&w->rules.rules[0], &w->catalogue, &w->error), 0);
    use(w, "x: a_begn -> a_end");
    assert_int_equal(span_rule_check(&w->rules.rules[1], &w->catalogue, &error), -ENOENT);
    assert_string_equal(error.what, "x: the trace has no event 'a_begn'; did you mean 'a_begin'?");
    use(w, "x: a_begin(idd) -> a_end(id)");
    error = (struct error){0};
    assert_int_equal(span_rule_check(&w->rules.rules[2], &w->catalogue, &error), -EINVAL);
    assert_string_equal(error.what, "x: event 'a_begin' has no field 'idd'; did you mean 'id'?");
    use(w, "x: a_begin(id&3,id>>2) -> a_end(id,id)");
    assert_int_equal(span_rule_check(&w->rules.rules[3], &w->catalogue, &w->error), 0);
    use(w, "x: a_begin(id) -> a_end(name&3)");
    error = (struct error){0};
    assert_int_equal(span_rule_check(&w->rules.rules[4], &w->catalogue, &error), -EINVAL);
    assert_string_equal(error.what, "x: column 29: field 'name' of event 'a_end' is not a number; "
                                    "a mask requires one");
    use(w, "x: a_begin(name>>1) -> a_end(name>>1)");
    assert_int_equal(span_rule_check(&w->rules.rules[5], &w->catalogue, &w->error), 0);
}

/* ---- spans ---- */

static void test_pairs(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id)");
    use(w, "strings: b_begin(name,id) -> b_end(name,id)");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->begin, 2, 0, 7, 2);
    put(w, w->end, 3, 1, 8, 1);
    put(w, w->end, 4, 1, 8, 3);
    put(w, w->begin, 5, 0, 7, 2);
    put(w, w->other_begin, 6, 0, 7, 9);
    put(w, w->other_end, 7, 0, 7, 9);
    put(w, w->end, 8, 1, 8, 2);
    assert_int_equal(w->error_ns, 0);
    put(w, w->begin, 9, 0, 7, 2);
    spans_finish(&w->spans);
    expect(w, "1-3, 2 again, 6-7, 5-8, 9 open");
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 1);
}

/* The hash of a string has no bits that mean anything. */
static void test_mask_of_string(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(name&1) -> a_end(name&1)");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->end, 2, 0, 7, 1);
    spans_finish(&w->spans);
    assert_int_equal(w->n_done, 0);
}

/* As a guest's flush, which completes once more, at no sector. */
static void test_condition(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id){other == 1} -> a_end(id){id != 0xffffffffffffffff}");
    use(w, "b: b_begin(name){name == \"*7\"} -> b_end(name)");
    start(w);
    put(w, w->begin, 1, 0, 7, 0);
    put(w, w->begin, 2, 0, 8, 1);
    put(w, w->end, 3, 0, 7, 0);
    put(w, w->end, 4, 0, 7, UINT64_MAX);
    put(w, w->other_begin, 5, 0, 8, 3);
    put(w, w->other_begin, 6, 0, 8, 17);
    put(w, w->other_end, 7, 0, 8, 17);
    spans_finish(&w->spans);
    expect(w, "1-3, 6-7");
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 0);
    assert_int_equal(span_rule_check(&w->rules.rules[0], &w->catalogue, &w->error), 0);
    use(w, "x: a_begin(id){idd == 7} -> a_end(id)");
    assert_int_equal(span_rule_check(&w->rules.rules[2], &w->catalogue, &w->error), -EINVAL);
}

static void test_star(void **state)
{
    struct world *w = *state;

    use(w, "what-*: *_begin -> *_end by cpu");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->other_begin, 2, 0, 7, 1);
    put(w, w->end, 3, 0, 7, 1);
    put(w, w->other_end, 4, 0, 7, 1);
    spans_finish(&w->spans);
    expect(w, "1-3, 2-4");
    assert_string_equal(w->done[0].kind, "what-a");
    assert_string_equal(w->done[1].kind, "what-b");
}

static void test_again(void **state)
{
    static const struct {
        const char *rule, *expected;
    } ways[] = {
        {"a_begin -> a_end", "1 again, 2-3"},
        {"a_begin -> a_end again=first", "1-3"},
        {"a_begin -> a_end again=nest", "2-3, 1-4"},
        {"a_begin -> a_end again=queue", "1-3, 2-4"},
        {"a_begin -> a_end again=replace", "1 again, 2-3"},
    };
    struct world *w = *state;

    for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
        w->rules.n = w->n_done = 0;
        use(w, ways[i].rule);
        start(w);
        put(w, w->begin, 1, 0, 7, 1);
        put(w, w->begin, 2, 0, 7, 1);
        put(w, w->end, 3, 0, 7, 1);
        put(w, w->end, 4, 0, 7, 1);
        spans_finish(&w->spans);
        expect(w, ways[i].expected);
        assert_int_equal(fate(w, SPAN_NO_BEGIN), i < 2 || i == 4);
        assert_int_equal(fate(w, SPAN_AGAIN), i < 2 || i == 4);
        spans_done(&w->spans);
    }
    start(w);
}

/* A chain has all its steps but those that may be missing, in their order. */
static void test_chain(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_middle(id) -> b_begin(id)? -> a_end(id)");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->other_begin, 2, 0, 7, 1); /* too early */
    put(w, w->end, 3, 0, 7, 1);         /* not without the middle */
    put(w, w->middle, 4, 0, 7, 1);
    put(w, w->end, 5, 0, 7, 1);
    put(w, w->begin, 6, 0, 7, 1);
    put(w, w->middle, 7, 0, 7, 1);
    put(w, w->other_begin, 8, 0, 7, 1);
    put(w, w->end, 9, 0, 7, 1);
    spans_finish(&w->spans);
    expect(w, "1-5, 6-9");
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 1);
}

static void put_exact(struct world *w, const struct event_class *class, int64_t time, uint64_t id,
                      uint32_t error_ns)
{
    struct payload payload = {.id = id};
    struct item item = {.kind = ITEM_EVENT,
                        .time = time,
                        .origin = class->origin,
                        .class = class,
                        .payload = (uint8_t *)&payload,
                        .size = sizeof payload,
                        .pid = 7,
                        .vcpu = VCPU_UNKNOWN,
                        .error_ns = error_ns};

    assert_int_equal(spans_put(&w->spans, &item, 1), 0);
}

/* An event is one step of a span. */
static void test_step_twice(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id) -> a_end(id)");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->end, 2, 0, 7, 1);
    assert_int_equal(w->n_done, 0);
    put(w, w->end, 3, 0, 7, 1);
    put(w, w->end, 4, 0, 7, 1);
    expect(w, "1-3");
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 1);
}

/* From a guest to its VMM and back; the clock of the one may be off by 50 against the other's. */
static void test_chain_and_back(void **state)
{
    struct world *w = *state;
    struct origin origin = *w->guest;
    struct event_class *other_end;

    other_end = add(w, catalogue_add_origin(&w->catalogue, &origin), "a_end");
    use(w, "guest:a_begin(id) -> vmm:handle(id) -> guest:a_end(id)");
    start(w);
    put_exact(w, w->begin, 100, 1, 50);
    put_exact(w, w->handle, 110, 1, 0);
    put_exact(w, other_end, 120, 1, 50); /* of another guest */
    put_exact(w, w->end, 130, 1, 50);
    assert_int_equal(w->error_ns, 0); /* of one clock */
    put_exact(w, w->handle, 200, 2, 50);
    put_exact(w, w->begin, 210, 2, 0);
    put_exact(w, w->end, 230, 2, 0);
    put_exact(w, w->handle, 300, 3, 50);
    put_exact(w, w->begin, 380, 3, 0); /* too late for it */
    put_exact(w, w->end, 390, 3, 0);
    spans_finish(&w->spans);
    expect(w, "100-130, 210-230, 380 open");
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 2);
}

/* Chains of three steps in all orders of three layers, against a model. */
static void test_chain_over_layers(void **state)
{
    static const char *const names[] = {"guest", "vmm", "host"};
    struct world *w = *state;
    struct origin origin = *w->guest;
    struct event_class *classes[3];

    origin.layer = LAYER_HOST;
    classes[0] = add(w, w->guest, "step");
    classes[1] = add(w, w->vmm, "step");
    classes[2] = add(w, catalogue_add_origin(&w->catalogue, &origin), "step");
    for (unsigned order = 0; order < 27; order++) {
        const unsigned layers[] = {order % 3, order / 3 % 3, order / 9};
        struct {
            int64_t begin;
            unsigned step;
            bool is_open;
        } open[4] = {0};
        uint64_t complete = 0, no_begin = 0, again = 0;
        char rule[100];

        w->rules.n = w->n_done = 0;
        snprintf(rule, sizeof rule, "%s:step(id) -> %s:step(id) -> %s:step(id)", names[layers[0]],
                 names[layers[1]], names[layers[2]]);
        use(w, rule);
        start(w);
        for (int64_t t = 1; t < 3000; t++) {
            unsigned layer = (unsigned)(random_u64() % 3);
            uint64_t id = random_u64() % ARRAY_SIZE(open);
            bool is_step = open[id].is_open && layers[open[id].step + 1] == layer;
            bool is_end = is_step && open[id].step == 1;

            put_exact(w, classes[layer], t, id, 0);
            if (is_end) {
                assert_int_equal(w->done[w->n_done - 1].end, t);
                assert_int_equal(w->done[w->n_done - 1].begin, open[id].begin);
                open[id].is_open = false;
                complete++;
            } else if (is_step) {
                open[id].step = 1;
                continue;
            } else {
                no_begin += layers[2] == layer;
            }
            if (layers[0] != layer)
                continue;
            again += open[id].is_open;
            open[id].begin = t;
            open[id].step = 0;
            open[id].is_open = true;
        }
        assert_true(complete > 50);
        assert_int_equal(fate(w, SPAN_COMPLETE), complete);
        assert_int_equal(fate(w, SPAN_NO_BEGIN), no_begin);
        assert_int_equal(fate(w, SPAN_AGAIN), again);
        spans_done(&w->spans);
    }
    start(w);
}

static void test_place(void **state)
{
    struct world *w = *state;

    use(w, "a_begin -> a_end by cpu");
    use(w, "b_begin -> b_end by thread");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->begin, 2, 1, 7, 1);
    put(w, w->end, 3, 1, 8, 1);
    put(w, w->end, 4, 0, 8, 1);
    put(w, w->end, 5, CPU_UNKNOWN, 8, 1);
    put(w, w->other_begin, 6, 0, 7, 1);
    put(w, w->other_begin, 7, 0, 0, 1); /* the idle threads of two CPUs */
    put(w, w->other_begin, 8, 1, 0, 1);
    put(w, w->other_end, 9, 0, 0, 1);
    put(w, w->other_end, 10, 3, 7, 1);
    put(w, w->other_begin, 11, 3, 7, 1);
    put(w, w->exits, 12, 3, 7, 1);
    put(w, w->other_end, 13, 3, 7, 1); /* another thread of that number */
    spans_finish(&w->spans);
    expect(w, "2-3, 1-4, 7-9, 6-10, 11 gone, 8 open");
    assert_int_equal(fate(w, SPAN_UNKEYED), 1);
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 1);
}

/* The last switch of a thread ends it: its prev_state, one more than its number here, is that of a zombie. */
static void test_last_switch(void **state)
{
    struct world *w = *state;

    use(w, "b_begin -> b_end by thread");
    start(w);
    put(w, w->other_begin, 1, 0, 7, 1);
    put(w, w->leaves, 2, 0, 7, 7);
    put(w, w->other_end, 3, 0, 7, 1);
    put(w, w->other_begin, 4, 0, 31, 1);
    put(w, w->leaves, 5, 0, 31, 31);
    put(w, w->other_end, 6, 0, 31, 1);
    spans_finish(&w->spans);
    expect(w, "1-3, 4 gone");
}

/* P2. */
/* Streams may have no time stamps: how long a span was is not known. */
static void test_no_time(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id)");
    start(w);
    put(w, w->begin, TIME_UNKNOWN, 0, 7, 1);
    put(w, w->end, TIME_UNKNOWN, 0, 7, 1);
    put(w, w->end, 5, 0, 7, 1);
    spans_finish(&w->spans);
    expect(w, "");
    assert_int_equal(fate(w, SPAN_UNKEYED), 2);
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 1);
}

static void test_losses(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id) by cpu");
    use(w, "b_begin(id) -> b_end(id)");
    use(w, "kick: a_middle(id) -> vmm:handle(id)");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->begin, 2, 1, 7, 1);
    put(w, w->other_begin, 3, 1, 7, 1);
    put(w, w->middle, 4, 1, 7, 1);
    lose(w, w->guest, 5, 0);
    put(w, w->end, 6, 0, 7, 1);
    put(w, w->end, 7, 1, 7, 1);
    put(w, w->other_end, 8, 1, 7, 1);
    put(w, w->handle, 9, 1, 7, 1); /* what the guest lost cannot have been that */
    put(w, w->middle, 10, 1, 7, 1);
    lose(w, w->vmm, 11, 0);
    put(w, w->handle, 12, 1, 7, 1);
    put(w, w->begin, 13, 2, 7, 1);
    lose(w, w->guest, 14, CPU_UNKNOWN);
    spans_finish(&w->spans);
    expect(w, "1 lost, 2-7, 3 lost, 4-9, 10 lost, 13 lost");
    /* The ends of these have their begin in the trace. */
    for (unsigned i = 0; i < w->spans.n_kinds; i++)
        assert_int_equal(w->spans.kinds[i]->fates[SPAN_NO_BEGIN], 0);
}

/* P2: what ends before a loss comes, though after it began. */
static void test_loss_under_way(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id) by cpu");
    use(w, "b_begin(id) -> b_end(id) by thread");
    start(w);
    put(w, w->begin, 1, 1, 7, 1);
    put(w, w->begin, 2, 0, 7, 1);
    put_before_loss(w, w->other_begin, 3, 0, 7);
    put(w, w->end, 4, 1, 7, 1);
    put(w, w->other_end, 5, 1, 7, 1); /* of one that began again on CPU 0, perhaps */
    put(w, w->other_begin, 6, 1, 7, 1);
    put(w, w->other_end, 7, 1, 7, 1);
    lose(w, w->guest, 8, 0);
    put(w, w->end, 9, 0, 7, 1);
    put(w, w->other_begin, 10, 1, 7, 1);
    put(w, w->other_end, 11, 1, 7, 1);
    spans_finish(&w->spans);
    expect(w, "1-4, 3 lost, 6 lost, 2 lost, 10-11");
}

/* The same where a loss follows another, without an event of its CPU between them. */
static void test_loss_after_loss(void **state)
{
    struct world *w = *state;
    struct item item = {.kind = ITEM_LOSS,
                        .time = 3,
                        .lost = 1,
                        .since = 1,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN,
                        .before_loss = true};

    use(w, "b_begin(id) -> b_end(id) by thread");
    start(w);
    item.origin = w->guest;
    put_before_loss(w, w->begin, 1, 0, 7);
    assert_int_equal(spans_put(&w->spans, &item, 1), 0);
    put(w, w->other_begin, 4, 1, 7, 1);
    put(w, w->other_end, 5, 1, 7, 1);
    lose(w, w->guest, 6, 0);
    put(w, w->other_begin, 7, 1, 7, 1);
    put(w, w->other_end, 8, 1, 7, 1);
    spans_finish(&w->spans);
    expect(w, "4 lost, 7-8");
}

/* The same where it is not known on which CPUs events were: two losses of such are under way. */
static void test_losses_without_cpu(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id)");
    start(w);
    put(w, w->begin, 1, CPU_UNKNOWN, 7, 1);
    put_before_loss(w, w->other_begin, 2, CPU_UNKNOWN, 8);
    put(w, w->end, 3, CPU_UNKNOWN, 7, 1);
    put_before_loss(w, w->other_begin, 4, CPU_UNKNOWN, 9);
    lose(w, w->guest, 5, CPU_UNKNOWN);
    put(w, w->begin, 6, CPU_UNKNOWN, 7, 1);
    put(w, w->end, 7, CPU_UNKNOWN, 7, 1);
    lose(w, w->guest, 8, CPU_UNKNOWN);
    put(w, w->begin, 9, CPU_UNKNOWN, 7, 1);
    put(w, w->end, 10, CPU_UNKNOWN, 7, 1);
    spans_finish(&w->spans);
    expect(w, "1 lost, 6 lost, 9-10");
}

/* P2: a thread that has not left its CPU since has no events on others. */
static void test_thread_that_stays(void **state)
{
    struct world *w = *state;

    use(w, "b_begin(id) -> b_end(id) by thread");
    start(w);
    put(w, w->leaves, 1, 1, 9, 0);
    put_before_loss(w, w->begin, 2, 0, 7);
    put(w, w->other_begin, 3, 1, 7, 1);
    put(w, w->other_end, 4, 1, 7, 1);
    put(w, w->other_begin, 5, 1, 7, 1);
    put(w, w->leaves, 6, 1, 7, 0);
    put(w, w->leaves, 7, 1, 9, 0);
    put(w, w->other_end, 8, 1, 7, 1);
    put(w, w->other_begin, 9, 1, 7, 1);
    put(w, w->other_end, 10, 2, 7, 1);
    put(w, w->other_begin, 11, 1, 7, 1);
    lose(w, w->guest, 12, 0);
    put(w, w->other_end, 13, 1, 7, 1);
    put(w, w->other_begin, 14, 1, 7, 1);
    lose(w, w->guest, 15, 1);
    put(w, w->other_end, 16, 1, 7, 1);
    spans_finish(&w->spans);
    expect(w, "3-4, 5 lost, 9 lost, 11-13, 14 lost");
}

/* P2, of a CPU of which nothing follows: later spans may have ended there, but for those of other CPUs. */
static void test_open_loss(void **state)
{
    struct world *w = *state;
    struct item loss = {.kind = ITEM_LOSS,
                        .time = 2,
                        .origin = w->guest,
                        .lost = LOST_UNKNOWN,
                        .since = 2,
                        .cpu = 0,
                        .is_open = true,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    use(w, "a_begin(id) -> a_end(id) by cpu");
    use(w, "b_begin(id) -> b_end(id) by thread");
    start(w);
    put(w, w->begin, 1, 1, 7, 1);
    assert_int_equal(spans_put(&w->spans, &loss, 1), 0);
    put(w, w->end, 3, 1, 7, 1);
    put(w, w->begin, 4, 1, 7, 1);
    put(w, w->other_begin, 5, 1, 7, 1);
    put(w, w->end, 6, 1, 7, 1);
    put(w, w->other_end, 7, 1, 7, 1);
    lose(w, w->guest, 9, 2);
    put(w, w->other_begin, 10, 1, 7, 1);
    put(w, w->other_end, 11, 1, 7, 1);
    spans_finish(&w->spans);
    expect(w, "1-3, 4-6, 5 lost, 10 lost");
}

/* P2, before all CPUs of a kernel begin. */
/* Of what is open at the end, the end may be among what was lost, also of unique keys, and in the other source. */
static void test_losses_of_open(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id) unique");
    use(w, "kick: a_middle(id) -> vmm:handle(id)");
    use(w, "back: vmm:handle(id) -> guest:b_end(id)");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->middle, 2, 0, 7, 1);
    lose(w, w->guest, 3, 0); /* nothing that ends a kick */
    put(w, w->handle, 4, 0, 7, 8);
    put(w, w->begin, 5, 0, 7, 2);
    spans_finish(&w->spans);
    expect(w, "1 lost, 2 open, 4 open, 5 open");
    assert_int_equal(w->error_ns, 50); /* of its begin */
    spans_done(&w->spans);
    w->n_done = 0;
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->middle, 2, 0, 7, 1);
    lose(w, w->vmm, 3, 0);
    put(w, w->middle, 4, 0, 7, 2);
    spans_finish(&w->spans);
    expect(w, "1 open, 2 lost, 4 open");
}

/* What is open is known to be so until the end of the data that its end would be in. */
static void test_open_until(void **state)
{
    struct world *w = *state;
    struct origin other = *w->vmm;
    static const int64_t until[] = {30, 20, 30};

    use(w, "a_begin(id) -> a_end(id)");
    use(w, "kick: a_middle(id) -> vmm:handle(id)");
    use(w, "back: vmm:handle(id) -> guest:b_end(id)");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->middle, 2, 0, 7, 1);
    put(w, w->handle, 4, 0, 7, 8);
    assert_int_equal(source_ends_note(&w->ends, w->guest, 30, 1), 0);
    assert_int_equal(source_ends_note(&w->ends, w->vmm, 20, 2), 0);
    assert_int_equal(source_ends_note(&w->ends, w->vmm, 10, 3), 0);
    assert_int_equal(source_ends_find(&w->ends, w->vmm).error_ns, 2);
    spans_finish(&w->spans);
    expect(w, "1 open, 2 open, 4 open");
    for (unsigned i = 0; i < ARRAY_SIZE(until); i++)
        assert_int_equal(w->done[i].until, until[i]);

    /* Of several sources that may have it, the first one to end; but not one that ended before the span began. */
    spans_done(&w->spans);
    w->n_done = 0;
    start(w);
    put(w, w->middle, 5, 0, 7, 1);
    assert_int_equal(source_ends_note(&w->ends, &other, 3, 0), 0);
    other.ended = 4;
    spans_finish(&w->spans);
    assert_int_equal(w->done[0].until, 20);
    spans_done(&w->spans);
    w->n_done = 0;
    start(w);
    put(w, w->middle, 5, 0, 7, 1);
    other.ended = 0;
    spans_finish(&w->spans);
    assert_int_equal(w->done[0].until, 3);
}

/* What hangs may be silent: where all was recorded, until the last event of any source, but not beyond the recording, and not
 * where the last that came is a loss. */
static void test_open_and_silent(void **state)
{
    struct world *w = *state;
    struct origin whole = *w->vmm, guest = *w->guest;
    const struct item begin = {.kind = ITEM_EVENT, .time = 2, .error_ns = 7, .origin = &whole};
    const struct item later = {.kind = ITEM_EVENT, .time = 30, .origin = &guest};
    const struct item loss = {.kind = ITEM_LOSS, .time = 3, .origin = &whole};

    assert_int_equal(source_ends_put(&w->ends, &begin, 1), 0);
    assert_int_equal(source_ends_put(&w->ends, &later, 1), 0);
    assert_int_equal(source_ends_find(&w->ends, &whole).time, 2);
    whole.known_until = 40;
    assert_int_equal(source_ends_find(&w->ends, &whole).time, 30);
    assert_int_equal(source_ends_find(&w->ends, &whole).error_ns, 7);
    whole.known_until = 20;
    assert_int_equal(source_ends_find(&w->ends, &whole).time, 20);
    assert_int_equal(source_ends_find(&w->ends, &guest).time, 30);
    assert_int_equal(source_ends_put(&w->ends, &loss, 1), 0);
    assert_int_equal(source_ends_find(&w->ends, &whole).time, 2);
}

/* Of spans of three rules that begin and do not end, only that of the second one is known to be open. */
static void expect_one_open(struct world *w)
{
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->other_begin, 2, 0, 7, 1);
    put(w, w->handle, 3, 0, 7, 8);
    spans_finish(&w->spans);
    expect(w, "1 lost, 2 open, 3 lost");
}

/* A kernel that recorded some threads lacks what came while others ran. */
static void test_some_threads(void **state)
{
    struct world *w = *state;

    w->guest->pid_filter = true;
    use(w, "a_begin(id) -> a_end(id) unique");
    use(w, "b_begin(id) -> b_end(id) by thread");
    use(w, "back: vmm:handle(id) -> guest:a_middle(id)");
    expect_one_open(w);
}

/* On the CPU whose file was cut, what began later may have ended, too. */
static void test_cut(void **state)
{
    struct world *w = *state;

    w->guest->is_cut = true;
    use(w, "a_begin(id) -> a_end(id)");
    use(w, "b_begin(id) -> b_end(id) by cpu");
    use(w, "back: vmm:handle(id) -> guest:a_middle(id)");
    expect_one_open(w);
}

static void test_early(void **state)
{
    struct world *w = *state;

    w->guest->complete_from = 5;
    use(w, "a_begin(id) -> a_end(id) by cpu");
    use(w, "b_begin(id) -> b_end(id)");
    start(w);
    put(w, w->begin, 1, 0, 7, 1);
    put(w, w->other_begin, 2, 1, 7, 1);
    put(w, w->other_begin, 3, 1, 7, 2);
    put(w, w->other_end, 4, 1, 7, 2); /* maybe of one that began again on the other CPU */
    put(w, w->end, 6, 0, 7, 1);       /* the same CPU */
    put(w, w->other_end, 7, 1, 7, 1);
    put(w, w->other_begin, 8, 1, 7, 3);
    put(w, w->other_end, 9, 1, 7, 3);
    spans_finish(&w->spans);
    expect(w, "3 early, 1-6, 2 early, 8-9");
    w->guest->complete_from = 0;
}

/* P4: by the errors of both clocks, and not more. */
static void test_early_ends(void **state)
{
    struct world *w = *state;

    use(w, "guest:a_begin(id) -> vmm:handle(id)");
    use(w, "back: vmm:handle(id) -> guest:a_end(id)");
    start(w);
    put(w, w->handle, 100, 0, 7, 1);
    put(w, w->begin, 120, 0, 7, 1); /* the handle tells no error: it is not looked for */
    put(w, w->handle, 130, 0, 7, 1);
    put(w, w->end, 200, 0, 7, 2);
    put(w, w->handle, 240, 0, 7, 2);
    put(w, w->end, 300, 0, 7, 3);
    put(w, w->handle, 351, 0, 7, 3);
    put(w, w->end, 355, 0, 7, 3);
    spans_finish(&w->spans);
    expect(w, "120-130, 100 again, 240-200, 351-355, 130 open");
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 4);
}

/* Within a source, errors count where its clock stood still or was set near an end. */
static void test_unsteady(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id)");
    start(w);
    for (unsigned i = 0; i < 4; i++) {
        w->unsteady = i & 1;
        put(w, w->begin, i * 10, 0, 7, 1);
        w->unsteady = i & 2;
        put(w, w->end, i * 10 + 5, 0, 7, 1);
        assert_int_equal(w->error_ns, i ? 100 : 0);
    }
    spans_finish(&w->spans);
    expect(w, "0-5, 10-15, 20-25, 30-35");
}

/* Within a source, too, durations are as exact as the rate of its clock is known, and never worse than both ends. */
static void test_rate(void **state)
{
    struct world *w = *state;

    use(w, "a_begin(id) -> a_end(id)");
    w->guest->rate_error = 0.01;
    w->guest->clock.hz = NANOSECONDS;
    start(w);
    put(w, w->begin, 0, 0, 7, 1);
    put(w, w->end, 100, 0, 7, 1);
    assert_int_equal(w->error_ns, 4); /* with what is rounded */
    put(w, w->begin, 1000, 0, 7, 1);
    put(w, w->end, 6000, 0, 7, 1);
    assert_in_range(w->error_ns, 52, 53);
    put(w, w->begin, 10000, 0, 7, 1);
    put(w, w->end, 90000, 0, 7, 1);
    assert_int_equal(w->error_ns, 100);
    w->guest->clock.hz = NANOSECONDS / 2;
    put(w, w->begin, 100000, 0, 7, 1);
    put(w, w->end, 101000, 0, 7, 1);
    assert_in_range(w->error_ns, 22, 23);
    w->guest->duration_error_ns = 30;
    put(w, w->begin, 200000, 0, 7, 1);
    put(w, w->end, 201000, 0, 7, 1);
    assert_in_range(w->error_ns, 52, 53);
    spans_finish(&w->spans);
}

/* Ends without begins do not pile up, and neither do spans without an end. */
static void test_bounds(void **state)
{
    struct world *w = *state;

    use(w, "back: vmm:handle(id) -> guest:a_end(id)");
    start(w);
    for (unsigned i = 0; i < 100000; i++)
        put(w, w->end, i, 0, 7, i);
    assert_true(w->spans.n_open <= 5000);
    spans_finish(&w->spans);
    assert_int_equal(fate(w, SPAN_NO_BEGIN), 100000);
    assert_int_equal(w->n_done, 0);
}

/* ---- against a model that looks at all spans each time ---- */

struct model_span {
    int64_t begin;
    uint64_t id;
    int32_t cpu;
    bool lost, gone;
};

static struct model_span model[200000];

static void model_take(unsigned *n, unsigned i)
{
    memmove(&model[i], &model[i + 1], (*n - i - 1) * sizeof model[0]);
    (*n)--;
}

static void model_done(struct done *done, unsigned *n, int64_t begin, int64_t end,
                       enum span_fate which)
{
    done[(*n)++] = (struct done){.begin = (uint64_t)begin, .end = (uint64_t)end, .fate = which};
}

static int by_begin(const void *a, const void *b)
{
    const struct done *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void test_model(void **state)
{
    static const char *const agains[] = {"cut", "first", "nest", "queue", "replace"};
    struct world *w = *state;
    struct done *done = calloc(DONE_MAX, sizeof *done);

    for (unsigned round = 0; round < 80; round++) {
        unsigned again = round % 5;
        bool on_cpu = round / 5 % 2;
        unsigned n_ids = 1u << round % (again == 4 ? 3 : 11);
        unsigned n_model = 0;
        unsigned n_done = 0;
        uint64_t no_begin = 0, ignored = 0;
        char rule[100];

        w->rules.n = w->n_done = 0;
        snprintf(rule, sizeof rule, "a_begin(id) -> a_end(id) %s again=%s", on_cpu ? "by cpu" : "",
                 agains[again]);
        use(w, rule);
        start(w);
        for (int64_t t = 1; t < 4000; t++) {
            unsigned what = (unsigned)(random_u64() % 1000);
            uint64_t id = random_u64() % n_ids;
            int32_t cpu = (int32_t)(random_u64() % 3);
            bool complete_one = false, is_of_lost = false;

            if (what < 4) {
                int32_t lost_cpu = what == 0 ? CPU_UNKNOWN : cpu;

                lose(w, w->guest, t, lost_cpu);
                for (unsigned i = 0; i < n_model; i++)
                    if (!on_cpu || lost_cpu == CPU_UNKNOWN || lost_cpu == model[i].cpu)
                        model[i].lost = true;
                continue;
            }
            if (what < 500) {
                bool is_ignored = false;

                put(w, w->begin, t, cpu, 7, id);
                for (unsigned i = 0; i < n_model && (again < 2 || again == 4);) {
                    if ((model[i].id != id && again != 4) || (on_cpu && model[i].cpu != cpu)) {
                        i++;
                    } else if (again == 1 && !model[i].lost) {
                        is_ignored = true;
                        i++;
                    } else {
                        model_done(done, &n_done, model[i].begin, 0,
                                   model[i].lost ? SPAN_LOST : SPAN_AGAIN);
                        model_take(&n_model, i);
                    }
                }
                ignored += is_ignored;
                if (!is_ignored)
                    model[n_model++] = (struct model_span){.begin = t, .id = id, .cpu = cpu};
                continue;
            }
            put(w, w->end, t, cpu, 7, id);
            while (!complete_one) {
                unsigned found = UINT32_MAX;

                for (unsigned i = 0; i < n_model; i++)
                    if (model[i].id == id && (!on_cpu || model[i].cpu == cpu) &&
                        (found == UINT32_MAX || again != 3))
                        found = i;
                if (found == UINT32_MAX)
                    break;
                complete_one = !model[found].lost;
                is_of_lost |= model[found].lost;
                model_done(done, &n_done, model[found].begin, complete_one ? t : 0,
                           complete_one ? SPAN_COMPLETE : SPAN_LOST);
                model_take(&n_model, found);
            }
            no_begin += !complete_one && !is_of_lost;
        }
        for (unsigned i = 0; i < n_model; i++)
            model_done(done, &n_done, model[i].begin, 0, model[i].lost ? SPAN_LOST : SPAN_OPEN);
        spans_finish(&w->spans);
        assert_int_equal(w->n_done, n_done);
        qsort(done, n_done, sizeof *done, by_begin);
        qsort(w->done, n_done, sizeof *done, by_begin);
        for (unsigned i = 0; i < n_done; i++) {
            assert_int_equal(w->done[i].begin, done[i].begin);
            assert_int_equal(w->done[i].fate, done[i].fate);
            if (done[i].fate == SPAN_COMPLETE)
                assert_int_equal(w->done[i].end, done[i].end);
        }
        assert_int_equal(fate(w, SPAN_NO_BEGIN), no_begin);
        if (again == 1)
            assert_true(fate(w, SPAN_AGAIN) == ignored);
        assert_true(fate(w, SPAN_COMPLETE) > 0);
        spans_done(&w->spans);
    }
    free(done);
    start(w);
}

/* A reader may add a class when its first event comes: what began before that of the end is known has its end, too. */
static void test_late_class(void **state)
{
    struct world *w = *state;
    const struct event_class *begin = add(w, w->guest, "late_begin");
    const struct event_class *end;

    use(w, "late_begin(id) -> late_end(id)");
    use(w, "nested: late_begin(other) -> late_end(other) again=nest");
    use(w, "queued: late_begin(other) -> late_end(other) again=queue");
    use(w, "cpu: late_begin -> late_end by cpu again=replace");
    start(w);
    for (unsigned i = 1; i <= 600; i++)
        put(w, begin, i, (int32_t)i, 7, 100 + i);
    put(w, begin, 601, 0, 7, 101);
    w->n_done = 0; /* the span that the last one cut */
    end = add(w, w->vmm, "late_end");
    put(w, end, 602, 9999, 7, 900); /* of nothing */
    end = add(w, w->guest, "late_end");
    put(w, end, 603, 0, 7, 101);
    expect(w, "601-603, 601-603, 1-603, 601-603");
    w->n_done = 0;
    put(w, end, 604, 1, 7, 101);
    expect(w, "1-604, 601-604, 1-604");
    w->n_done = 0;
    for (unsigned i = 2; i <= 600; i++)
        put(w, end, 700 + i, (int32_t)i, 7, 100 + i);
    assert_int_equal(w->n_done, 4 * 599);
    spans_finish(&w->spans);
    assert_int_equal(w->n_done, 4 * 599);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rules),
        TEST(bad_rules),
        TEST(file_of_rules),
        TEST(builtin_rules),
        TEST(check),
        TEST(pairs),
        TEST(mask_of_string),
        TEST(condition),
        TEST(star),
        TEST(again),
        TEST(chain),
        TEST(place),
        TEST(last_switch),
        TEST(losses),
        TEST(open_loss),
        TEST(losses_of_open),
        TEST(loss_under_way),
        TEST(loss_after_loss),
        TEST(losses_without_cpu),
        TEST(thread_that_stays),
        TEST(early),
        TEST(early_ends),
        TEST(bounds),
        TEST(late_class),
        TEST(unsteady),
        TEST(rate),
        TEST(open_until),
        TEST(open_and_silent),
        TEST(cut),
        TEST(some_threads),
        TEST(model),
        TEST(model),
        TEST(step_twice),
        TEST(no_time),
        TEST(chain_and_back),
        TEST(chain_over_layers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
