/* SPDX-License-Identifier: MIT */
/* What QEMU's and Linux's versions call the events and fields that Strata looks for (tests/data/names).
 *
 * Every event of each version is given to every analysis, to the timeline and to the causes and effects; what they ask of
 * their names and fields is noted, as the linker has them call the functions below. A name that no version has is a mistake,
 * and one that only some have needs another name for the others, or stands in a list here. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/condition.h"
#include "analysis/event_sets.h"
#include "analysis/spans/span_match.h"
#include "analysis/summary.h"
#include "base/glob.h"
#include "base/macro.h"
#include "base/map.h"
#include "event/catalogue.h"
#include "event/kernel.h"
#include "event/kernel_event.h"
#include "record/qemu/restore.h"
#include "schema/kernel/tasks.h"
#include "timeline/causal.h"
#include "tracks/slices.h"
#include "tracks/span_styles.h"

#define VERSIONS 3
#define ALL_VERSIONS ((1u << VERSIONS) - 1)
#define FIELD_SIZE 16 /* of texts; numbers have 8, and threads 4 */
#define FIELDS 80
#define LINE 4096
#define ASKED 1024
#define EVENT 256

static const char *const versions[LAYERS][VERSIONS] = {
    [LAYER_VMM] = {"7.2", "10.0", "11.1"},
    [LAYER_HOST] = {"6.1", "6.12", "7.3"},
    [LAYER_GUEST] = {"6.1", "6.12", "7.3"},
};

/* The groups of a kernel's events that are given. What is asked for in another one is found to be missing: add it. */
static const char *const groups[] = {
    "block", "ftrace",       "ipi",   "irq",      "irq_vectors", "kvm",   "kvm_hv",    "lock",
    "power", "raw_syscalls", "sched", "syscalls", "task",        "timer", "workqueue",
};

#define GUEST_EXIT KERNEL_GUEST_GROUP ":" KERNEL_GUEST_EXIT
#define GUEST_ENTRY KERNEL_GUEST_GROUP ":" KERNEL_GUEST_ENTRY

/* What some versions lack, though nothing took its place there. */
static const struct {
    const char *event, *field; /* field NULL: the event */
    unsigned versions;         /* bits of those that have it */
    const char *why;
} known_gaps[] = {
    {"block:block_io_start", NULL, 6, "after Linux 6.1; the rule block-io alone has it"},
    {"block:block_io_done", NULL, 6, "the same"},
    {"ipi:ipi_send_cpu", NULL, 6, "after Linux 6.1; without it, irq has no such delays"},
    /* list-events.py does not read what has such a structure of its own. */
    {"ftrace:funcgraph_entry|fgraph_retaddr_entry", NULL, 4, "the tracer function_graph"},
    {"ftrace:funcgraph_entry|fgraph_retaddr_entry", "func", 0, "the same"},
    {"one of funcgraph_entry|fgraph_retaddr_entry: fgraph_retaddr_entry", NULL, 0, "the same"},
    {"ftrace:funcgraph_exit", NULL, 0, "the same"},
    {"ftrace:print", STYLE_MARKER, 0, "the name in a line, which strata takes out"},
    {"syscall_entry_*", NULL, 0, "LTTng alone"},
    {"syscall_exit_*", NULL, 0, "the same"},
    {GUEST_EXIT, "scause", 6, "of RISC-V, which traces no exits in Linux 6.1"},
    {GUEST_EXIT, "exit reason", 0, "the reason's name, which strata has"},
    /* Asked of both ends of an exit, and one has it. */
    {"kvm_run_exit", "type", 0, "of kvm_vcpu_ioctl"},
    {"kvm_vcpu_ioctl", "reason", 0, "of kvm_run_exit"},
    {GUEST_ENTRY, "isa", 0, "of the exit"},
    {GUEST_ENTRY, "exit_reason", 0, "of the exit"},
    {GUEST_ENTRY, "esr_ec", 0, "of the exit"},
    {GUEST_ENTRY, "ret", 0, "of the exit"},
    {GUEST_ENTRY, "scause", 0, "of the exit"},
    {GUEST_ENTRY, "icptcode", 0, "of the exit"},
    {GUEST_ENTRY, "trap", 0, "of the exit"},
    {GUEST_ENTRY, "reason", 0, "of the exit"},
};
static bool is_used[ARRAY_SIZE(known_gaps)];

static struct catalogue catalogue;
static struct arena arena;
static unsigned n_without_end;            /* kinds of spans */
static unsigned version;                  /* of the events that are given */
static const struct event_class *current; /* NULL: none is given */

/* ---- What is asked for ---- */

/* An event, or a field of an event. Either may be "A|B". */
struct asked {
    char *event, *field; /* field NULL: the event */
    char *text;          /* both */
    unsigned versions;   /* bits of those that have it */
};

static struct asked *asked[ASKED];
static unsigned n_asked;
static struct map by_text; /* struct asked */
static struct map
    rule_steps;          /* by the address of a step's event: not NULL, if its rule is built in */
static char last[EVENT]; /* the last of the events that `current` was found to be; "": none */

/* Whether S is a constant of this program. Names that are made of an event's are not. */
static bool is_constant(const char *s)
{
    extern const char __executable_start[], end[];

    return (uintptr_t)s >= (uintptr_t)__executable_start && (uintptr_t)s < (uintptr_t)end;
}

static void note(const char *event, const char *field, bool found)
{
    char text[512];
    int len = snprintf(text, sizeof text, "%s %s", event, field ? field : "");
    struct asked *is;

    assert_true(len < (int)sizeof text);
    is = map_get_str(&by_text, text, (size_t)len);
    if (!is) {
        assert_true(n_asked < ASKED);
        is = asked[n_asked++] = calloc(1, sizeof *is);
        assert_non_null(is);
        is->text = strdup(text);
        is->event = strdup(event);
        is->field = field ? strdup(field) : NULL;
        assert_int_equal(map_put_str(&by_text, is->text, (size_t)len, is), 0);
    }
    is->versions |= (unsigned)found << version;
}

static void put_event(char event[EVENT], const char *group, const char *names)
{
    int len = snprintf(event, EVENT, "%s%s%s", group ? group : "", group ? ":" : "", names);

    assert_true(len < EVENT);
}

/* The same of EVENT, whose NAMES are "A|B": of each, too. CLASS: what has it; NULL: the event given has not. */
static void note_event(const char *group, const char *names, const struct event_class *class)
{
    char event[EVENT];

    put_event(event, group, names);
    note(event, NULL, class);
    for (const char *p = names; strchr(names, '|') && *p; p += *p == '|') {
        int len = (int)strcspn(p, "|");

        snprintf(event, sizeof event, "one of %s: %.*s", names, len, p);
        note(event, NULL,
             class && strlen(class->name) == (size_t)len &&
                 memcmp(class->name, p, (size_t)len) == 0);
        p += len;
    }
}

static void note_match(const char *group, const char *names, const char *star)
{
    bool is_constants = is_constant(names);

    if (is_constants)
        note_event(group, names, star ? current : NULL);
    if (!star)
        return;
    last[0] = '\0';
    if (is_constants || map_get(&rule_steps, (uintptr_t)names))
        put_event(last, group, names);
}

const char *__real_glob_match_star(const char *pattern, const char *name, size_t *ret_len);
const char *__wrap_glob_match_star(const char *pattern, const char *name, size_t *ret_len);
const char *__wrap_glob_match_star(const char *pattern, const char *name, size_t *ret_len)
{
    const char *star = __real_glob_match_star(pattern, name, ret_len);

    if (current && name == current->name)
        note_match(NULL, pattern, star);
    return star;
}

const char *__real_kernel_event_star(const struct event_class *class, const char *group,
                                     const char *pattern, size_t *ret_len);
const char *__wrap_kernel_event_star(const struct event_class *class, const char *group,
                                     const char *pattern, size_t *ret_len);
const char *__wrap_kernel_event_star(const struct event_class *class, const char *group,
                                     const char *pattern, size_t *ret_len)
{
    const char *star = __real_kernel_event_star(class, group, pattern, ret_len);

    if (class == current)
        note_match(group, pattern, star);
    return star;
}

bool __wrap_kernel_event_is(const struct event_class *class, const char *group,
                            const char *pattern);
bool __wrap_kernel_event_is(const struct event_class *class, const char *group, const char *pattern)
{
    size_t len;

    return __wrap_kernel_event_star(class, group, pattern, &len) != NULL;
}

/* The timeline asks all events of a kernel for the thread that runs next. */
static void note_field(const struct event_class *class, const char *name, bool found)
{
    if (class == current && *last && name && strcmp(name, "*") != 0 &&
        (strncmp(name, "next_", 5) != 0 || strcmp(class->name, "sched_switch") == 0))
        note(last, name, found);
}

int __real_kernel_event_field(const struct event_class *class, const char *name);
int __wrap_kernel_event_field(const struct event_class *class, const char *name);
int __wrap_kernel_event_field(const struct event_class *class, const char *name)
{
    int field = __real_kernel_event_field(class, name);

    note_field(class, name, field >= 0);
    return field;
}

int __real_event_class_field(const struct event_class *class, const char *name);
int __wrap_event_class_field(const struct event_class *class, const char *name);
int __wrap_event_class_field(const struct event_class *class, const char *name)
{
    int field = __real_event_class_field(class, name);

    note_field(class, name, field >= 0);
    return field;
}

/* The events and fields of STEP of a rule, which are not looked for in what has no begin or end. */
static void note_step(const struct span_rule *rule, const struct span_step *step)
{
    char event[EVENT];

    assert_int_equal(map_put(&rule_steps, (uintptr_t)step->event, &rule_steps), 0);
    put_event(event, step->group, step->event);
    if (step->layers == 1u << LAYER_HYPERVISOR)
        return;
    note_event(step->group, step->event, NULL);
    for (unsigned i = 0; i < catalogue.n_classes; i++) {
        const struct event_class *class = catalogue.classes[i];
        struct condition *condition;
        const char *star;
        size_t len;

        if (!span_step_matches(step, class, &star, &len))
            continue;
        note_event(step->group, step->event, class);
        for (unsigned j = 0; j < rule->n_keys; j++)
            if (step->keys[j].kind == SPAN_KEY_FIELD)
                note(event, step->keys[j].field, span_key_field(&step->keys[j], class) >= 0);
        if (step->condition)
            note(event, step->condition,
                 condition_compile(step->condition, class, &arena, &condition, NULL) == 0);
    }
}

static void note_rules(const struct spans *spans)
{
    for (unsigned i = 0; i < spans->n_rules; i++)
        for (unsigned j = 0; j < spans->rules[i]->n_steps; j++)
            note_step(spans->rules[i], &spans->rules[i]->steps[j]);
}

/* What `strata record` asks for. */
static void note_list(const char *const *patterns, enum layer layer)
{
    for (; patterns && *patterns; patterns++)
        for (unsigned i = 0; i < catalogue.n_classes; i++)
            if (catalogue.classes[i]->origin->layer == layer)
                note(*patterns, NULL, event_class_matches(catalogue.classes[i], *patterns));
}

static void note_lists(const struct event_set *needs)
{
    static const char *const of_attach[] = {QEMU_RESTORE_EVENT, NULL};

    note_list(of_attach, LAYER_VMM);
    note_list(needs->vmm, LAYER_VMM);
    note_list(needs->host, LAYER_HOST);
    note_list(needs->guest, LAYER_GUEST);
}

/* ---- The events of versions ---- */

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len >= n && strcmp(name + len - n, end) == 0;
}

static struct field make_field(const char *name, unsigned at)
{
    struct field field = {
        .name = name, .c_type = "u", .type = FIELD_UINT, .offset = at * FIELD_SIZE, .size = 8};

    if (ends_with(name, "comm") || strcmp(name, "rwbs") == 0 || strcmp(name, "buf") == 0 ||
        strcmp(name, "name") == 0 || strcmp(name, "filename") == 0) {
        field.c_type = "char[16]";
        field.type = FIELD_STRING;
        field.storage = STORE_ARRAY;
        field.size = FIELD_SIZE;
    } else if (ends_with(name, "pid")) {
        field.size = 4;
    }
    return field;
}

static bool is_given(const char *group)
{
    for (unsigned i = 0; i < ARRAY_SIZE(groups); i++)
        if (strcmp(groups[i], group) == 0)
            return true;
    return false;
}

/* Adds the event of LINE, "NAME FIELD... ". */
static void add_event(char *line, const struct origin *origin)
{
    struct field fields[FIELDS];
    struct event_class class = {.origin = origin}, *added;
    char *name = strtok(line, " ");
    char *colon = strchr(name, ':');

    if (colon)
        *colon = '\0';
    if (colon && !is_given(name))
        return;
    class.group = colon ? arena_strndup(&arena, name, strlen(name)) : NULL;
    class.name = arena_strndup(&arena, colon ? colon + 1 : name, strlen(colon ? colon + 1 : name));
    for (char *word; (word = strtok(NULL, " "));) {
        assert_true(class.n_fields < FIELDS);
        fields[class.n_fields] =
            make_field(arena_strndup(&arena, word, strlen(word)), class.n_fields);
        class.n_fields++;
    }
    class.fields = arena_memdup(&arena, fields, class.n_fields * sizeof *fields);
    assert_int_equal(catalogue_add(&catalogue, &class, &added), 0);
}

/* Adds the events of LAYER, of `version`. */
static void add_events(enum layer layer)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    static const struct origin_kernel a_kernel = {.long_size = 8};
    const struct origin origin = {.layer = layer,
                                  .format = "made",
                                  .path = layer_name(layer),
                                  .clock = clock,
                                  .kernel = layer == LAYER_VMM ? NULL : &a_kernel};
    const struct origin *added = catalogue_add_origin(&catalogue, &origin);
    const char *name = layer == LAYER_VMM ? "qemu" : "linux";
    char command[512], line[LINE], wanted[16];
    FILE *in;

    snprintf(command, sizeof command, "xz -dc '%s/names/%s.xz'", TEST_DATA, name);
    snprintf(wanted, sizeof wanted, " %s ", versions[layer][version]);
    in = popen(command, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        char *in_versions = strstr(line, " : ");

        assert_non_null(in_versions);
        line[strcspn(line, "\n")] = ' ';
        if (!strstr(in_versions + 2, wanted))
            continue;
        *in_versions = '\0';
        add_event(line, added);
    }
    assert_int_equal(pclose(in), 0);
}

/* ---- What looks for them ---- */

static unsigned source_of(void *arg, const struct origin *origin)
{
    return origin->number;
}

static int note_track(struct slices *slices, const struct track *track)
{
    return 0;
}

static void note_slice(struct slices *slices, const struct slice *slice)
{
}

static const struct slices_ops slices_ops = {.track = note_track, .slice = note_slice};

struct users {
    struct summary summary;
    struct causal causal;
    struct slices slices;
};

static void put(struct users *users, const struct item *item)
{
    const struct kernel_task_pairs *pairs;

    assert_int_equal(sink_put(&users->summary.sink, item, 1), 0);
    assert_int_equal(causal_put(&users->causal, item, 1), 0);
    assert_int_equal(slices_put(&users->slices, item, 1), 0);
    assert_int_equal(kernel_task_pairs_find(&arena, item->class, &pairs), 0);
}

static void give_all_events(void)
{
    static const uint8_t payload[FIELDS * FIELD_SIZE];
    struct span_rule_list rules = {0};
    const struct analysis_settings settings = {.clock = {"monotonic", NANOSECONDS}};
    const struct slices_options options = {.catalogue = &catalogue};
    struct users *users = calloc(1, sizeof *users);

    assert_non_null(users);
    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++) {
        struct span_rule rule;

        assert_int_equal(span_rule_parse(builtin->rule, NULL, &arena, &rule, NULL), 0);
        assert_int_equal(span_rule_list_add(&rules, &rule), 0);
    }
    assert_int_equal(summary_init(&users->summary, &settings, rules.rules, rules.n, &catalogue), 0);
    assert_int_equal(causal_init(&users->causal, catalogue.n_origins, source_of, NULL), 0);
    assert_int_equal(slices_init(&users->slices, &options, &slices_ops), 0);
    note_rules(&users->summary.exits.spans);
    note_rules(&users->summary.irq.spans);
    note_rules(&users->summary.latency.spans);
    note_rules(&users->slices.spans);
    sink_begin(&users->summary.sink);
    /* Twice: an end is looked at only once it has had a begin. */
    for (unsigned i = 0; i < 2 * catalogue.n_classes; i++) {
        const struct event_class *class = catalogue.classes[i % catalogue.n_classes];
        struct item item = {.kind = ITEM_EVENT,
                            .time = i,
                            .origin = class->origin,
                            .class = class,
                            .payload = payload,
                            .size = sizeof payload,
                            .pid = 1,
                            .vcpu = 0};

        current = class;
        last[0] = '\0';
        put(users, &item);
    }
    current = NULL;
    for (const struct event_set *needs = event_sets; needs->name; needs++)
        note_lists(needs);
    note_lists(&event_set_usual);
    assert_int_equal(sink_finish(&users->summary.sink), 0);
    slices_done(&users->slices);
    causal_done(&users->causal);
    summary_done(&users->summary);
    span_rule_list_done(&rules);
    free(users);
}

static void for_each_version(void (*look)(void))
{
    for (version = 0; version < VERSIONS; version++) {
        add_events(LAYER_VMM);
        add_events(LAYER_HOST);
        add_events(LAYER_GUEST);
        look();
        catalogue_done(&catalogue);
        catalogue = (struct catalogue){0};
        map_done(&rule_steps);
        rule_steps = (struct map){0};
        arena_done(&arena);
        arena = (struct arena){0};
    }
}

/* ---- Tests ---- */

/* The field of an event is in the versions that have the event, and whether that may be is another question. */
static bool is_gap_of_event(const struct asked *is)
{
    char text[EVENT + 1];
    int len = snprintf(text, sizeof text, "%s ", is->event);
    const struct asked *event = map_get_str(&by_text, text, (size_t)len);

    return is->field && event && event->versions == is->versions;
}

static bool is_known_gap(const struct asked *is)
{
    for (unsigned i = 0; i < ARRAY_SIZE(known_gaps); i++) {
        const char *field = known_gaps[i].field;

        if (strcmp(known_gaps[i].event, is->event) != 0 || !field != !is->field ||
            (field && strcmp(field, is->field) != 0))
            continue;
        is_used[i] = true;
        return known_gaps[i].versions == is->versions;
    }
    return false;
}

/* An event that begins a span has one that may end it: whatever a star of its name stands for, that of the end is there. */
static void check_ends(void)
{
    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++) {
        const struct span_step *begin, *end;
        struct span_rule rule;

        assert_int_equal(span_rule_parse(builtin->rule, NULL, &arena, &rule, NULL), 0);
        begin = &rule.steps[0];
        end = &rule.steps[rule.n_steps - 1];
        for (unsigned i = 0; strchr(begin->event, '*') && i < catalogue.n_classes; i++) {
            const struct event_class *class = catalogue.classes[i];
            bool has_end = false;
            const char *star, *name;
            size_t len;

            if (!span_step_matches(begin, class, &star, &len))
                continue;
            name = glob_fill_star(&arena, end->event, star, len);
            for (unsigned j = 0; strchr(end->event, '*') && j < catalogue.n_classes; j++)
                has_end |= strcmp(catalogue.classes[j]->name, name) == 0;
            if (!has_end)
                print_error("%s: nothing ends what '%s' begins in QEMU %s or Linux %s\n", rule.name,
                            class->name, versions[LAYER_VMM][version],
                            versions[LAYER_HOST][version]);
            n_without_end += !has_end;
        }
    }
}

static void test_what_begins_has_an_end(void **state)
{
    for_each_version(check_ends);
    assert_int_equal(n_without_end, 0);
}

static void test_every_version_has_what_is_asked_for(void **state)
{
    unsigned n = 0;

    for_each_version(give_all_events);
    for (unsigned i = 0; i < n_asked; i++) {
        const struct asked *is = asked[i];
        bool is_one = strncmp(is->event, "one of ", 7) == 0;

        if (is->versions == ALL_VERSIONS || (is_one && is->versions != 0) || is_gap_of_event(is) ||
            is_known_gap(is))
            continue;
        n++;
        print_error("'%s'%s%s%s:", is->event, is->field ? " with the field '" : "",
                    is->field ? is->field : "", is->field ? "'" : "");
        for (unsigned j = 0; j < VERSIONS; j++)
            if (!(is->versions >> j & 1))
                print_error(" not in QEMU %s and Linux %s;", versions[LAYER_VMM][j],
                            versions[LAYER_HOST][j]);
        print_error(" if they call it otherwise, add that name; otherwise add it to known_gaps\n");
    }
    for (unsigned i = 0; i < ARRAY_SIZE(known_gaps); i++) {
        if (is_used[i])
            continue;
        n++;
        print_error("known_gaps: '%s' is not asked for\n", known_gaps[i].event);
    }
    assert_true(n_asked > 100);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_begins_has_an_end),
        cmocka_unit_test(test_every_version_has_what_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
