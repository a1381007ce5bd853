/* SPDX-License-Identifier: MIT */
#include "schema/xen/event_mask.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/suggest.h"

/* The set has a bit for each number of each of the twelve classes: bits 0-15 of the number, which are
 * subclass and number, after the index of the class bit. */
#define CLASSES 12u
#define BITS_PER_CLASS (UINT32_C(1) << 16)
#define WORDS (CLASSES * BITS_PER_CLASS / 64)
#define NUMBERS (UINT32_C(1) << 12)

#define CLASS_BITS UINT32_C(0x0fff0000)
#define SUBCLASS_BITS UINT32_C(0xf000)

static const struct {
    const char *name;
    uint32_t mask;
} named[] = {
    {"all", XEN_MASK_ALL},
    {"gen", 0x0001f000},
    {"sched", 0x0002f000},
    {"dom0op", 0x0004f000},
    {"hvm", 0x0008f000},
    {"mem", 0x0010f000},
    {"pv", 0x0020f000},
    {"shadow", 0x0040f000},
    {"hw", 0x0080f000},
    {"guest", 0x0800f000},
    {"sched_min", 0x00021000},
    {"sched_class", 0x00022000},
    {"sched_verbose", 0x00028000},
    {"dom0_domops", 0x00041000},
    {"hvm_entryexit", 0x00081000},
    {"hvm_handler", 0x00082000},
    {"hvm_emul", 0x00084000},
    {"pv_entry", 0x00201000},
    {"pv_subcall", 0x00202000},
    {"hw_pm", 0x00801000},
    {"hw_irq", 0x00802000},
};

int xen_event_mask_init(struct xen_event_mask *choice)
{
    uint64_t *bits = calloc(WORDS, sizeof *bits);

    if (!bits)
        return -ENOMEM;
    *choice = (struct xen_event_mask){.bits = bits};
    return 0;
}

void xen_event_mask_done(struct xen_event_mask *choice)
{
    free(choice->bits);
    *choice = (struct xen_event_mask){0};
}

bool xen_mask_passes(uint32_t mask, uint32_t event)
{
    return (mask & event & CLASS_BITS) != 0 && (mask & event & SUBCLASS_BITS) != 0;
}

/* The index of an event's class bit; CLASSES: it has none, or several. */
static unsigned class_of(uint32_t event)
{
    uint32_t class = event >> 16 & 0xfff;

    if (class == 0 || (class & (class - 1)) != 0)
        return CLASSES;
    return (unsigned)__builtin_ctz(class);
}

static uint64_t *numbers_of(const struct xen_event_mask *choice, unsigned class, unsigned subclass)
{
    return choice->bits + (class * BITS_PER_CLASS + subclass * NUMBERS) / 64;
}

bool xen_event_mask_has(const struct xen_event_mask *choice, uint32_t event)
{
    unsigned class = class_of(event);
    uint32_t bit;

    if (class == CLASSES)
        return true; /* not of a known Xen; left for the reader of the trace */
    bit = class * BITS_PER_CLASS + (event & 0xffff);
    return choice->bits[bit / 64] >> bit % 64 & 1;
}

bool xen_event_mask_is_exact(const struct xen_event_mask *choice)
{
    for (unsigned class = 0; class < CLASSES; class ++)
        for (unsigned subclass = 1; subclass < 16; subclass++) {
            const uint64_t *words = numbers_of(choice, class, subclass);
            uint64_t all = UINT64_MAX;

            if (!xen_mask_passes(choice->mask, UINT32_C(1) << (16 + class) | subclass << 12))
                continue;
            for (unsigned i = 0; i < NUMBERS / 64; i++)
                all &= words[i];
            if (all != UINT64_MAX)
                return false;
        }
    return true;
}

uint32_t xen_event_mask_stamped_mask(const struct xen_event_mask *choice)
{
    const uint32_t unstamped = 0x0800 << 16 | 0x0040 << 16 | 0x0010 << 16; /* guest, shadow, mem */
    const uint32_t hvm = 0x0008 << 16, entry_exit = 0x1000, handlers = 0x2000;
    const uint32_t sched = 0x0002 << 16, sched_min = 0x1000;
    uint32_t mask = choice->mask;

    if (mask & CLASS_BITS & ~unstamped & ~hvm)
        return mask;
    if (mask & hvm)
        return mask & SUBCLASS_BITS & ~handlers ? mask : mask | entry_exit;
    /* All of these classes' events have all of the subclass bits, so that one of them is enough. */
    if ((mask & SUBCLASS_BITS) == SUBCLASS_BITS)
        mask &= ~SUBCLASS_BITS;
    return mask | sched | sched_min;
}

int xen_event_mask_add_mask(struct xen_event_mask *choice, uint32_t mask, struct error *error)
{
    if ((mask & CLASS_BITS) == 0 || (mask & SUBCLASS_BITS) == 0)
        return error_set(error, -EINVAL, "",
                         "the mask 0x%08x selects nothing: it needs a class bit (16 to 27) and a "
                         "subclass bit (12 to 15), for example 0x0008f000 for hvm",
                         (unsigned)mask);
    for (unsigned class = 0; class < CLASSES; class ++)
        for (unsigned subclass = 1; subclass < 16; subclass++)
            if (xen_mask_passes(mask, UINT32_C(1) << (16 + class) | subclass << 12))
                memset(numbers_of(choice, class, subclass), 0xff, NUMBERS / 8);
    choice->mask |= mask;
    return 0;
}

static void add_event(struct xen_event_mask *choice, uint32_t event)
{
    unsigned class = class_of(event);
    uint32_t bit = class * BITS_PER_CLASS + (event & 0xffff);

    if (class == CLASSES || (event & SUBCLASS_BITS) == 0)
        return;
    choice->bits[bit / 64] |= UINT64_C(1) << bit % 64;
    choice->mask |= event & (CLASS_BITS | SUBCLASS_BITS);
}

/* ---- Words ---- */

static bool event_matches(const struct xen_event *event, const char *pattern)
{
    char name[160];

    for (; event; event = event->before) {
        if (glob_match(pattern, event->name))
            return true;
        if (strchr(pattern, ':')) {
            snprintf(name, sizeof name, "%s:%s", xen_event_group(event->id), event->name);
            if (glob_match(pattern, name))
                return true;
        }
    }
    return false;
}

/* How many events match. */
static unsigned add_pattern(struct xen_event_mask *choice, const struct xen_table *table,
                            const char *pattern)
{
    unsigned n = 0;
    size_t iter = 0;
    uint64_t id;
    void *event;

    while (map_next(&table->events, &iter, &id, &event))
        if (event_matches(event, pattern)) {
            add_event(choice, (uint32_t)id);
            n++;
        }
    return n;
}

/* The name of an event or a class that is like WORD, or NULL. */
static const char *meant(const struct xen_table *table, const char *word)
{
    _cleanup_free_ const char **names = NULL;
    unsigned n = 0;
    size_t iter = 0;
    uint64_t id;
    void *event;

    names = calloc(table->n_events + ARRAY_SIZE(named) + 1, sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        names[n++] = named[i].name;
    while (n < table->n_events + ARRAY_SIZE(named) && map_next(&table->events, &iter, &id, &event))
        names[n++] = ((const struct xen_event *)event)->name;
    return suggest_find(word, strlen(word), names);
}

static int unknown(const struct xen_table *table, const char *word, struct error *error)
{
    const char *like;

    if (glob_is_pattern(word))
        return error_set(error, -EINVAL, "",
                         "no event of Xen matches '%s'; they are listed in strata-xen-events(5)",
                         word);
    like = meant(table, word);
    if (like)
        return error_set(error, -EINVAL, "",
                         "unknown class, subclass or event '%s'; did you mean '%s'?", word, like);
    return error_set(
        error, -EINVAL, "",
        "unknown event '%s': not a class (all gen sched dom0op hvm mem pv shadow hw guest), "
        "subclass, event or mask of Xen; see strata-record(1)",
        word);
}

static int add_number(struct xen_event_mask *choice, const char *word, struct error *error)
{
    char *end;
    unsigned long long v;

    errno = 0;
    v = strtoull(word, &end, 0);
    if (errno || *end || v > UINT32_MAX)
        return error_set(error, -EINVAL, "",
                         "invalid event mask '%s' (a number of 32 bits, such as 0x0008f000)", word);
    if ((v & 0xfff) != 0 && class_of((uint32_t)v) < CLASSES && v <= 0x0fffffff &&
        (v & SUBCLASS_BITS) != 0) {
        add_event(choice, (uint32_t)v);
        return 0;
    }
    return xen_event_mask_add_mask(choice, (uint32_t)v, error);
}

static int add_word(struct xen_event_mask *choice, const struct xen_table *table, const char *word,
                    struct error *error)
{
    if (*word >= '0' && *word <= '9')
        return add_number(choice, word, error);
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        if (strcmp(named[i].name, word) == 0)
            return xen_event_mask_add_mask(choice, named[i].mask, error);
    return add_pattern(choice, table, word) ? 0 : unknown(table, word, error);
}

int xen_event_mask_add(struct xen_event_mask *choice, const struct xen_table *table,
                       const char *text, struct error *error)
{
    for (const char *word = text;; word++) {
        size_t len = strcspn(word, ",");
        char copy[128];
        int r;

        if (len == 0)
            return error_set(error, -EINVAL, "", "an event is missing in '%.80s'", text);
        if (len >= sizeof copy)
            return error_set(error, -EINVAL, "", "'%.40s...' is too long for an event", word);
        memcpy(copy, word, len);
        copy[len] = 0;
        r = add_word(choice, table, copy, error);
        if (r < 0)
            return r;
        word += len;
        if (*word == 0)
            return 0;
    }
}
