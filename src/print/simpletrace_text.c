/* SPDX-License-Identifier: MIT */
#include "print/simpletrace_text.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/number.h"
#include "event/class_map.h"
#include "print/python_bytes.h"

/* So many bytes of a step are copied, whatever its length, because copies of a fixed size are a few instructions. */
#define STEP_TEXT 29
#define NAME_TEXT 32

enum step_kind {
    STEP_HEX,       /* text, then a u64 */
    STEP_STRING,    /* text, then a counted string */
    STEP_TEXT_ONLY, /* the beginning of a longer text */
};

/* One argument, or a piece of a long name. */
struct step {
    uint8_t kind;
    uint8_t len;
    char text[STEP_TEXT + 1]; /* " name=0x", " name=" */
};

/* How a class is printed. */
struct plan {
    unsigned n_steps;
    uint32_t least; /* least payload size */
    uint32_t room;  /* largest size of a line without the characters of strings */
    bool undeclared;
    bool swap;
    unsigned name_len;
    char *name; /* "NAME ", in at least NAME_TEXT bytes */
    struct step *steps;
};

struct simpletrace_text {
    struct text *out;
    unsigned style;
    struct arena arena;
    struct plan **plans; /* by class->index */
    unsigned n_plans;
    struct plan *dropped;
    bool started;
    uint64_t last; /* time of the previous item */
    uint32_t pid;  /* number in pid_text */
    unsigned pid_len;
    char pid_text[16]; /* " pid=4294967295" */
};

/* ---- plans ---- */

static int add_name(struct arena *arena, struct plan *plan, const char *name)
{
    size_t len = strlen(name);
    size_t size = MAX(len + 1, (size_t)NAME_TEXT);

    plan->name = arena_alloc(arena, size);
    if (!plan->name)
        return -ENOMEM;
    memcpy(plan->name, name, len);
    plan->name[len] = ' ';
    plan->name_len = (unsigned)len + 1;
    /* The name; a time; a pid; the newline and what the last fixed copies write over. */
    plan->room = (uint32_t)(size + NAME_TEXT + 2 * NUMBER_MAX + sizeof(struct step));
    return 0;
}

static void add_step(struct plan *plan, const char *name, bool string)
{
    size_t len = strlen(name);
    size_t at = 0;
    struct step *step = &plan->steps[plan->n_steps];

    step->text[step->len++] = ' ';
    /* What does not fit beside "=0x" goes into steps of its own. */
    while (len - at > STEP_TEXT - 4) {
        size_t n = MIN(len - at, (size_t)(STEP_TEXT - step->len));
        memcpy(step->text + step->len, name + at, n);
        step->len = (uint8_t)(step->len + n);
        step->kind = STEP_TEXT_ONLY;
        at += n;
        step = &plan->steps[++plan->n_steps];
    }
    memcpy(step->text + step->len, name + at, len - at);
    step->len = (uint8_t)(step->len + (len - at));
    memcpy(step->text + step->len, "=0x", 3);
    step->len = (uint8_t)(step->len + (string ? 1 : 3));
    step->kind = string ? STEP_STRING : STEP_HEX;
    plan->n_steps++;
    plan->least += string ? 4 : 8;
    plan->room += (uint32_t)(len + 4 + NUMBER_MAX);
}

static size_t steps_of(const char *name)
{
    return strlen(name) / (STEP_TEXT - 4) + 2;
}

static struct plan *plan_new(struct arena *arena, const char *name, size_t n_steps)
{
    struct plan *plan = arena_alloc(arena, sizeof *plan);

    if (!plan || add_name(arena, plan, name) < 0)
        return NULL;
    plan->steps = arena_alloc(arena, n_steps * sizeof *plan->steps);
    return plan->steps ? plan : NULL;
}

static struct plan *plan_of_class(struct arena *arena, const struct event_class *class)
{
    size_t n = 0;
    struct plan *plan;

    for (unsigned i = 0; i < class->n_fields; i++)
        n += steps_of(class->fields[i].name);
    plan = plan_new(arena, class->name, n);
    if (!plan)
        return NULL;
    plan->undeclared = !class->declared_in;
    for (unsigned i = 0; i < class->n_fields && !plan->undeclared; i++) {
        add_step(plan, class->fields[i].name, class->fields[i].type == FIELD_STRING);
        plan->swap = class->fields[i].swap;
    }
    return plan;
}

static _cold_ const struct plan *make_plan(struct simpletrace_text *t,
                                           const struct event_class *class)
{
    if (class_map_grow(t->plans, t->n_plans, class) < 0)
        return NULL;
    t->plans[class->index] = plan_of_class(&t->arena, class);
    return t->plans[class->index];
}

/* ---- pieces of a line ---- */

/* The time since the previous item. From 2^52 ns on, the rounding of Python's double is visible, so this uses a
 * double. */
static _cold_ char *put_long_delta(const struct simpletrace_text *t, char *p, uint64_t now,
                                   uint64_t before)
{
    bool is_negative = now < before;
    uint64_t delta = is_negative ? before - now : now - before;
    double us;
    char buf[48];
    int n;

    if (is_negative)
        *p++ = '-';
    if (delta < UINT64_C(1) << 52) {
        p = number_dec(p, delta / 1000);
        *p++ = '.';
        return number_dec_fixed(p, delta % 1000, 3);
    }
    us = t->style & SIMPLETRACE_AS_10 ? (double)((long double)delta / 1000) : (double)delta / 1000;
    n = snprintf(buf, sizeof buf, "%.3f", us);
    memcpy(p, buf, (size_t)n);
    return p + n;
}

static inline char *put_delta(struct simpletrace_text *t, char *p, uint64_t now)
{
    uint64_t before = t->started ? t->last : now;

    t->started = true;
    t->last = now;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t delta = now - before;

    if (likely(delta < 100000000)) {
        /* Eight digits at once, with the leading zeros shifted out except that of the µs; then the
         * last three again, after the point. */
        uint64_t digits = number_dec_8((uint32_t)delta);
        unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 32) & ~7u;
        uint32_t fraction;

        digits |= NUMBER_ZEROS;
        fraction = (uint32_t)(digits >> 40 << 8) | '.';
        store_u64(p, digits >> zeros);
        p += 5 - zeros / 8;
        store_u32(p, fraction);
        return p + 4;
    }
#endif
    return put_long_delta(t, p, now, before);
}

static _cold_ void set_pid(struct simpletrace_text *t, uint32_t pid)
{
    char buf[8 + NUMBER_MAX] = " pid=";

    t->pid = pid;
    t->pid_len = (unsigned)(number_dec(buf + 5, pid) - buf);
    memcpy(t->pid_text, buf, sizeof t->pid_text);
    if (t->style & SIMPLETRACE_NO_PID)
        t->pid_len = 0;
}

static inline char *put_head(struct simpletrace_text *t, char *p, const struct plan *plan,
                             const struct item *item)
{
    memcpy(p, plan->name, NAME_TEXT);
    if (unlikely(plan->name_len > NAME_TEXT))
        memcpy(p + NAME_TEXT, plan->name + NAME_TEXT, plan->name_len - NAME_TEXT);
    p = put_delta(t, p + plan->name_len, (uint64_t)item->time);
    if (unlikely((uint32_t)item->pid != t->pid))
        set_pid(t, (uint32_t)item->pid);
    memcpy(p, t->pid_text, sizeof t->pid_text);
    return p + t->pid_len;
}

static inline char *put_end(struct simpletrace_text *t, char *p, const struct plan *plan)
{
    if (unlikely(plan->n_steps == 0) && t->style & SIMPLETRACE_AS_10)
        *p++ = ' ';
    *p++ = '\n';
    return p;
}

/* ---- lines ---- */

/* Puts a line for which text_room() has room at once. */
static inline __attribute__((always_inline)) int put_line(struct simpletrace_text *t,
                                                          const struct plan *plan,
                                                          const struct item *item, const bool swap)
{
    /* Four characters for each of a string's, as "\x00"; the quotes stand in for its length. */
    char *p = text_room(t->out, plan->room + 4 * (size_t)item->size);
    const uint8_t *q = item->payload;
    uint32_t spare = item->size - plan->least; /* what strings may take */

    p = put_head(t, p, plan, item);
    for (const struct step *step = plan->steps, *end = step + plan->n_steps; step < end; step++) {
        memcpy(p, step->text, sizeof step->text);
        p += step->len;
        if (likely(step->kind == STEP_HEX)) {
            p = number_hex(p, load_u64_swap(q, swap));
            q += 8;
        } else if (step->kind == STEP_STRING) {
            uint32_t len = load_u32_swap(q, swap);

            if (unlikely(len > spare))
                return -EBADMSG;
            spare -= len;
            p = python_bytes(p, q + 4, len);
            q += 4 + len;
        }
    }
    t->out->next = put_end(t, p, plan);
    return 0;
}

/* Makes the checks of put_line() in advance, so that no half line is printed. */
static int check_strings(const struct plan *plan, const struct item *item)
{
    const uint8_t *q = item->payload;
    uint32_t spare = item->size - plan->least;

    for (unsigned i = 0; i < plan->n_steps; i++) {
        if (plan->steps[i].kind == STEP_HEX) {
            q += 8;
        } else if (plan->steps[i].kind == STEP_STRING) {
            uint32_t len = load_u32_swap(q, plan->swap);
            if (len > spare)
                return -EBADMSG;
            spare -= len;
            q += 4 + len;
        }
    }
    return 0;
}

/* Puts a line of any length, piece by piece. */
static _cold_ int put_long_line(struct simpletrace_text *t, const struct plan *plan,
                                const struct item *item)
{
    const uint8_t *q = item->payload;
    char head[2 * NUMBER_MAX + 64], *p = head;
    int r = check_strings(plan, item);

    if (r < 0)
        return r;
    text_put(t->out, plan->name, plan->name_len);
    p = put_delta(t, p, (uint64_t)item->time);
    if ((uint32_t)item->pid != t->pid)
        set_pid(t, (uint32_t)item->pid);
    text_put(t->out, head, (size_t)(p - head));
    text_put(t->out, t->pid_text, t->pid_len);
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct step *step = &plan->steps[i];

        text_put(t->out, step->text, step->len);
        if (step->kind == STEP_HEX) {
            text_put_hex(t->out, load_u64_swap(q, plan->swap));
            q += 8;
        } else if (step->kind == STEP_STRING) {
            uint32_t len = load_u32_swap(q, plan->swap);
            python_bytes_put(t->out, q + 4, len);
            q += 4 + len;
        }
    }
    p = put_end(t, head, plan);
    text_put(t->out, head, (size_t)(p - head));
    return 0;
}

static int put_dropped(struct simpletrace_text *t, const struct item *item)
{
    uint64_t lost = item->lost == LOST_UNKNOWN ? 0 : item->lost;
    struct item event = *item;

    event.payload = (const uint8_t *)&lost;
    event.size = sizeof lost;
    return put_line(t, t->dropped, &event, false);
}

static _cold_ int put_rare(struct simpletrace_text *t, const struct plan *plan,
                           const struct item *item)
{
    if (plan->undeclared)
        return -ENOENT;
    if (item->size < plan->least)
        return -EBADMSG;
    if (plan->room + 4 * (size_t)item->size > TEXT_ROOM_MAX)
        return put_long_line(t, plan, item);
    return put_line(t, plan, item, true);
}

int simpletrace_text_put(struct simpletrace_text *t, const struct item *items, unsigned n,
                         unsigned *ret_done)
{
    unsigned i;
    int r = 0;

    for (i = 0; i < n; i++) {
        const struct item *item = &items[i];
        const struct plan *plan;

        if (unlikely(item->kind != ITEM_EVENT)) {
            r = put_dropped(t, item);
            if (r < 0)
                break;
            continue;
        }
        plan = item->class->index < t->n_plans ? t->plans[item->class->index] : NULL;
        if (unlikely(!plan)) {
            plan = make_plan(t, item->class);
            if (!plan) {
                r = -ENOMEM;
                break;
            }
        }
        if (likely(item->size >= plan->least) &&
            likely(plan->room + 4 * (size_t)item->size <= TEXT_ROOM_MAX) &&
            likely(!plan->swap && !plan->undeclared))
            r = put_line(t, plan, item, false);
        else
            r = put_rare(t, plan, item);
        if (unlikely(r < 0))
            break;
    }
    *ret_done = i;
    return r;
}

/* ---- */

int simpletrace_text_new(struct text *out, unsigned style, struct simpletrace_text **ret_printer)
{
    struct simpletrace_text *t = calloc(1, sizeof *t);

    if (!t)
        return -ENOMEM;
    t->out = out;
    t->style = style;
    set_pid(t, 0);
    t->dropped = plan_new(&t->arena, "Dropped_Event", steps_of("num_events_dropped"));
    if (!t->dropped) {
        simpletrace_text_free(t);
        return -ENOMEM;
    }
    add_step(t->dropped, "num_events_dropped", false);
    *ret_printer = t;
    return 0;
}

void simpletrace_text_free(struct simpletrace_text *t)
{
    if (!t)
        return;
    free(t->plans);
    arena_done(&t->arena);
    free(t);
}
