/* SPDX-License-Identifier: MIT */
#include "merge/common_events.h"

#include <string.h>

#include "event/class_map.h"
#include "event/program.h"

#define GROUPS_MAX 8
#define SEPARATOR '\x1f'
#define STEP_MAX INT64_C(1000000)
/* By class. */
enum {
    CLASS_NEW,
    CLASS_OTHER,
    CLASS_MATCHES,
};

/* Finds the operator: the first one with blanks around it, because a TEXT may contain one; otherwise the only one. */
static const char *find_operator(const char *given)
{
    const char *only = NULL;

    for (const char *p = given; *p; p++)
        if ((*p == '=' || *p == '<') && p > given && p[-1] == ' ' && p[1] == ' ')
            return p;
    only = strpbrk(given, "=<");
    return only && !strpbrk(only + 1, "=<") ? only : NULL;
}

/* Copies the LEN bytes at S without the blanks around them. */
static char *trimmed(const char *s, size_t len)
{
    while (len > 0 && *s == ' ') {
        s++;
        len--;
    }
    while (len > 0 && s[len - 1] == ' ')
        len--;
    return strndup(s, len);
}

static int compile(struct common_side *side, struct error *error)
{
    int r = regex_compile(side->text, &side->regex, error);

    if (r < 0)
        return r;
    side->n_groups = regex_groups(side->regex);
    if (side->n_groups > GROUPS_MAX) {
        regex_free(side->regex);
        return error_set(error, -EINVAL, NULL, "more than %d parentheses in '%.100s'", GROUPS_MAX,
                         side->text);
    }
    return 0;
}

static void side_done(struct common_side *side)
{
    regex_free(side->regex);
    free(side->text);
    free(side->event);
    *side = (struct common_side){0};
}

static int parse_side(const char *s, size_t len, struct common_side *ret_side, struct error *error)
{
    const char *tilde = memchr(s, '~', len);
    struct common_side side = {.event = trimmed(s, tilde ? (size_t)(tilde - s) : len)};
    int r = 0;

    if (!side.event)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (side.event[0] == '\0' || side.event[strlen(side.event) - 1] == ':') {
        free(side.event);
        return error_set(error, -EINVAL, NULL, "a side names no event");
    }
    if (tilde) {
        side.text = trimmed(tilde + 1, (size_t)(s + len - tilde - 1));
        r = side.text ? compile(&side, error) : -ENOMEM;
        if (r < 0) {
            free(side.text);
            free(side.event);
            return error_set(error, r, NULL, "out of memory");
        }
    }
    *ret_side = side;
    return 0;
}

int common_sync_parse(const char *given, struct common_sync *ret_sync, struct error *error)
{
    const char *operator= find_operator(given);
    struct common_sync sync = {.given = given};
    int r;

    if (!operator)
        return error_set(error, -EINVAL, NULL,
                         "requires 'A-EVENT[~TEXT] = B-EVENT[~TEXT]', or ' < ' if A is before B");
    sync.ordered = *operator== '<';
    r = parse_side(given, (size_t)(operator- given), &sync.a, error);
    if (r >= 0)
        r = parse_side(operator+ 1, strlen(operator+ 1), &sync.b, error);
    if (r >= 0 && (sync.a.n_groups > 0) != (sync.b.n_groups > 0))
        r = error_set(error, -EINVAL, NULL,
                      "has parentheses in the TEXT of one side only; both must enclose what "
                      "identifies an event");
    if (r >= 0 && sync.a.n_groups != sync.b.n_groups)
        r = error_set(error, -EINVAL, NULL, "has %u parentheses in one TEXT and %u in the other",
                      sync.a.n_groups, sync.b.n_groups);
    if (r < 0) {
        common_sync_done(&sync);
        return r;
    }
    *ret_sync = sync;
    return 0;
}

void common_sync_done(struct common_sync *sync)
{
    side_done(&sync->a);
    side_done(&sync->b);
}

enum event_match_texts common_texts(const struct common_sync *sync)
{
    return sync->a.n_groups ? MATCH_BY_TEXTS : MATCH_TEXTS_EQUAL;
}

void common_init(struct common_events *marks, const struct common_side *side, const char *event)
{
    *marks = (struct common_events){
        .side = side, .event = event, .step = STEP_MAX, .text = TEXT_IN_MEMORY};
}

void common_done(struct common_events *marks)
{
    free(marks->items);
    free(marks->classes);
    arena_done(&marks->arena);
    text_done(&marks->text);
    *marks = (struct common_events){0};
}

/* Returns 1 if it matches, 0 if not, or -ENOMEM. */
static int look_at_class(struct common_events *marks, const struct event_class *class)
{
    if (class_map_grow(marks->classes, marks->n_classes, class) < 0)
        return -ENOMEM;
    if (marks->classes[class->index] == CLASS_NEW)
        marks->classes[class->index] =
            event_class_matches(class, marks->event) ? CLASS_MATCHES : CLASS_OTHER;
    return marks->classes[class->index] == CLASS_MATCHES;
}

/* True if S is a number, decimal or with 0x. */
static bool is_number(const char *s, size_t len, uint64_t *ret)
{
    char copy[24];
    char *end;
    size_t digits = len > 2 && s[0] == '0' && (s[1] | 0x20) == 'x' ? 2 : 0;

    if (len == 0 || len >= sizeof copy)
        return false;
    memcpy(copy, s, len);
    copy[len] = '\0';
    if (strspn(copy + digits, digits ? "0123456789abcdefABCDEF" : "0123456789") != len - digits)
        return false;
    errno = 0;
    *ret = strtoull(copy + digits, &end, digits ? 16 : 10);
    return errno == 0 && *end == '\0';
}

/* Stores what the parentheses enclose, in the form in which it is compared. */
static int put_groups(struct common_events *marks, const char *text,
                      const struct regex_range *groups, struct occurrence *occurrence)
{
    struct text key = TEXT_IN_MEMORY;
    int r = -ENOMEM;

    for (unsigned i = 1; i <= marks->side->n_groups; i++) {
        const char *s = text + groups[i].from;
        size_t len = groups[i].to - groups[i].from;
        uint64_t v;

        if (i > 1)
            text_put_char(&key, SEPARATOR);
        if (is_number(s, len, &v))
            text_put_u64(&key, v);
        else
            text_put(&key, s, len);
    }
    if (!key.error) {
        occurrence->len = (uint32_t)text_len(&key);
        occurrence->text =
            arena_strndup(&marks->arena, key.start ? key.start : "", occurrence->len);
        r = occurrence->text ? 0 : -ENOMEM;
    }
    text_done(&key);
    return r;
}

/* Returns 1 if the text matches, and fills OCCURRENCE; 0 if not; -ENOMEM; -ETIMEDOUT. */
static int look_at_text(struct common_events *marks, const struct item *item,
                        struct occurrence *occurrence)
{
    struct regex_range groups[GROUPS_MAX + 1] = {{0}};
    const struct common_side *side = marks->side;
    struct text *text = &marks->text;
    size_t from = 0, len;
    int r;

    text->next = text->start;
    item_put_text(item, text);
    if (text->error)
        return text->error;
    len = text_len(text);
    if (side->text) {
        r = regex_match(side->regex, text->start ? text->start : "", len, groups,
                        side->n_groups + 1);
        if (r <= 0)
            return r;
        if (side->n_groups)
            return put_groups(marks, text->start ? text->start : "", groups, occurrence) < 0
                       ? -ENOMEM
                       : 1;
        from = groups[0].from;
        len = groups[0].to - from;
    }
    occurrence->text = arena_strndup(&marks->arena, text->start + from, len);
    occurrence->len = (uint32_t)len;
    return occurrence->text ? 1 : -ENOMEM;
}

static int add(struct common_events *marks, const struct occurrence *occurrence)
{
    if (marks->n == marks->capacity) {
        size_t more = MAX(marks->capacity * 2, (size_t)64);
        struct occurrence *bigger = realloc(marks->items, more * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        marks->items = bigger;
        marks->capacity = more;
    }
    marks->items[marks->n++] = *occurrence;
    while (marks->step > 1 && occurrence->time % marks->step != 0)
        marks->step /= 10;
    return 0;
}

int common_look(struct common_events *marks, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct occurrence occurrence = {.time = items[i].time};
        int r;

        if (items[i].kind != ITEM_EVENT || items[i].time == TIME_UNKNOWN)
            continue;
        r = look_at_class(marks, items[i].class);
        if (r > 0)
            r = look_at_text(marks, &items[i], &occurrence);
        if (r > 0 && marks->n == MATCH_MAX)
            return -E2BIG;
        if (r > 0)
            r = add(marks, &occurrence);
        if (r < 0)
            return r;
    }
    return 0;
}
