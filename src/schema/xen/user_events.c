/* SPDX-License-Identifier: MIT */
#include "schema/xen/user_events.h"

#include <stdio.h>
#include <string.h>

#include "base/input.h"
#include "base/text.h"
#include "schema/xen/formats.h"

#define FILE_MAX ((size_t)4 << 20)
#define FIELDS_MAX 32
#define NAME_ROOM 65
/* Of xentrace's own records (format/xentrace/record.h): only rules for whole files have
 * one for it. */
#define CPU_CHANGE 0x1f003

/* A rule on its way to an event. */
struct rule {
    struct xen_table *table;
    struct field fields[FIELDS_MAX];
    unsigned n_fields;
    struct text format; /* printf's */
    const char *key;    /* where the text since the last conversion begins */
};

static bool is_letter(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A conversion %(NAME)… at P. Returns its length, 0: there is none. */
struct conversion {
    unsigned word; /* 1 to 7; 0: something else than a word */
    const char *flags;
    size_t flags_len;
    char letter;
};

static size_t conversion_at(const char *p, const char *end, struct conversion *ret)
{
    const char *start = p;
    const char *name = p + 2;
    const char *close;

    if (end - p < 5 || p[0] != '%' || p[1] != '(')
        return 0;
    close = memchr(name, ')', (size_t)(end - name));
    if (!close)
        return 0;
    *ret = (struct conversion){.flags = close + 1};
    if (close == name + 1 && *name >= '1' && *name <= '7')
        ret->word = (unsigned)(*name - '0');
    for (p = close + 1; p < end && ((*p >= '0' && *p <= '9') || *p == '-' || *p == '#'); p++)
        ;
    ret->flags_len = (size_t)(p - ret->flags);
    if (p == end || ret->flags_len > 8)
        return 0;
    ret->letter = *p;
    return (size_t)(p + 1 - start);
}

/* The name of the value that stands before P: "0x", "=" and the like are passed over. */
static void name_before(const struct rule *rule, const char *p, unsigned word, char *buf)
{
    const char *end;

    if (p - rule->key >= 2 && p[-1] == 'x' && p[-2] == '0')
        p -= 2;
    while (p > rule->key && !is_letter(p[-1]))
        p--;
    end = p;
    while (p > rule->key && is_letter(p[-1]))
        p--;
    if (p == end || end - p >= NAME_ROOM - 4)
        snprintf(buf, NAME_ROOM, "word%u", word);
    else
        snprintf(buf, NAME_ROOM, "%.*s", (int)(end - p), p);
    for (unsigned i = 0; i < rule->n_fields; i++) {
        if (strcmp(rule->fields[i].name, buf) == 0) {
            snprintf(buf + strlen(buf), NAME_ROOM - strlen(buf), "_%u", rule->n_fields + 1);
            break;
        }
    }
}

/* Word WORD and, with WIDE, the next one as its high half. */
static int add_field(struct rule *rule, const char *p, unsigned word, bool wide, bool hex)
{
    char name[NAME_ROOM];
    struct field field = {
        .c_type = wide ? "uint64_t" : "uint32_t",
        .type = FIELD_UINT,
        .place = PLACE_FIXED,
        .storage = STORE_SCALAR,
        .offset = 4 * (word - 1),
        .size = wide ? 8 : 4,
        .hex = hex,
        .optional = true,
    };

    name_before(rule, p, word, name);
    field.name = arena_strdup(&rule->table->arena, name);
    if (!field.name)
        return -ENOMEM;
    rule->fields[rule->n_fields++] = field;
    return 0;
}

/* The conversions of the text from P to END become fields, and the text a format of printf. 1: it cannot
 * be put so. */
static int convert(struct rule *rule, const char *p, const char *end)
{
    rule->key = p;
    while (p < end) {
        struct conversion c;
        struct conversion low;
        size_t n = conversion_at(p, end, &c);
        bool wide = false;
        bool hex;
        int r;

        if (n == 0) {
            /* "%%" stays. */
            if (*p == '%' && (end - p < 2 || p[1] != '%'))
                return 1;
            n = *p == '%' ? 2 : 1;
            text_put(&rule->format, p, n);
            p += n;
            continue;
        }
        hex = c.letter == 'x' || c.letter == 'X';
        if (c.word == 0 || rule->n_fields == FIELDS_MAX || !strchr("diuxXosr", c.letter))
            return 1;
        /* "%(2)08x%(1)08x": a number of two words. */
        if (hex && conversion_at(p + n, end, &low) && low.letter == c.letter &&
            low.word + 1 == c.word && low.flags_len == 2 && memcmp(low.flags, "08", 2) == 0)
            wide = true;
        r = add_field(rule, p, wide ? low.word : c.word, wide, hex);
        if (r < 0)
            return r;
        text_put_char(&rule->format, '%');
        if (wide)
            text_put_literal(&rule->format, "016l");
        else
            text_put(&rule->format, c.flags, c.flags_len);
        text_put_char(&rule->format, hex || c.letter == 'o' ? c.letter : 'u');
        p += n;
        if (wide)
            p += conversion_at(p, end, &low);
        rule->key = p;
    }
    return rule->format.error;
}

/* The end of the format's beginning that prints CPU and time, which are in every line of Strata anyway. */
static const char *skip_time(const char *p, const char *end)
{
    const char *end_of_time = p;

    while (p < end) {
        struct conversion c;
        size_t n = conversion_at(p, end, &c);

        if (*p == '[' || (n && c.word))
            break;
        p += n ? n : 1;
        if (n)
            end_of_time = p;
    }
    while (end_of_time < end && !is_letter(*end_of_time) && *end_of_time != '[' &&
           *end_of_time != '%')
        end_of_time++;
    return end_of_time;
}

/* The words up to END as a name: "hvm guest" is hvm_guest. Its length. */
static size_t make_name(const char *p, const char *end, char *buf)
{
    size_t n = 0;

    for (; p < end && n < NAME_ROOM - 1; p++) {
        if (is_letter(*p))
            buf[n++] = *p;
        else if (n > 0 && buf[n - 1] != '_')
            buf[n++] = '_';
    }
    while (n > 0 && buf[n - 1] == '_')
        n--;
    buf[n] = '\0';
    return n;
}

static int add_rule(struct xen_table *table, const char *file, const struct xen_format_rule *from)
{
    struct rule rule = {.table = table, .format = TEXT_IN_MEMORY};
    struct xen_event event = {
        .id = (uint32_t)from->id, .words_max = 7, .file = file, .line = from->line};
    const char *end = from->format + from->len;
    const char *p = skip_time(from->format, end);
    const char *open = memchr(p, '[', (size_t)(end - p));
    const char *percent = memchr(p, '%', (size_t)(end - p));
    const char *text = open;
    char name[NAME_ROOM];
    int r;

    if (!open || (percent && percent < open)) {
        /* Without brackets the first word is the name. */
        for (text = p; text < end && !is_blank(*text) && *text != '%'; text++)
            ;
        open = NULL;
    }
    if (make_name(p, text ? text : end, name) == 0)
        return 0; /* stays unknown_0x… */
    event.name = arena_strdup(&table->arena, name);
    if (open) {
        const char *close = memrchr(open, ']', (size_t)(end - open));

        text = open + 1;
        end = close ? close : end;
    }
    while (text < end && is_blank(*text))
        text++;
    while (text < end && is_blank(end[-1]))
        end--;
    r = event.name ? convert(&rule, text, end) : -ENOMEM;
    if (r == 0 && text_len(&rule.format)) {
        event.format = arena_strndup(&table->arena, rule.format.start, text_len(&rule.format));
        r = event.format ? 0 : -ENOMEM;
    }
    event.fields = rule.fields;
    event.n_fields = rule.n_fields;
    for (unsigned i = 0; i < rule.n_fields; i++)
        event.words = (uint8_t)MAX(event.words, (rule.fields[i].offset + rule.fields[i].size) / 4);
    text_done(&rule.format);
    return r < 0 ? r : xen_table_add(table, &event);
}

static int parse_formats(struct xen_table *table, const char *file, const char *text, size_t len,
                         struct error *error)
{
    const char *kept = arena_strdup(&table->arena, file);
    struct xen_formats formats = {0};
    int r = xen_formats_parse(&formats, file, text, len, error);
    bool own = true;

    if (r >= 0 && !kept)
        r = -ENOMEM;
    for (unsigned i = 0; i < formats.n_rules; i++)
        own = own && formats.rules[i].id != CPU_CHANGE;
    for (unsigned i = 0; i < formats.n_rules && r >= 0; i++) {
        const struct xen_format_rule *rule = &formats.rules[i];
        const struct xen_event *known =
            rule->id <= 0x0fffffff ? map_get(&table->events, rule->id) : NULL;

        /* 0 is for whatever has no rule. The last rule of this file counts. */
        if (rule->id == 0 || rule->id > 0x0fffffff || (known && known->file != kept && !own))
            continue;
        r = add_rule(table, kept, rule);
    }
    xen_formats_done(&formats);
    return r == -ENOMEM ? error_set(error, r, file, "out of memory") : r;
}

/* Only the rules of formats name their values in Python's way. */
static bool is_formats(const char *p, size_t len)
{
    const char *end = p + len;

    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;

        if (*p != '#' && memmem(p, (size_t)(stop - p), "%(", 2))
            return true;
        p = newline ? newline + 1 : end;
    }
    return false;
}

int xen_user_events_parse(struct xen_table *table, const char *file, const char *text, size_t len,
                          struct error *error)
{
    return is_formats(text, len) ? parse_formats(table, file, text, len, error)
                                 : xen_table_parse(table, file, text, len, error);
}

int xen_user_events_read(struct xen_table *table, const char *path, struct error *error)
{
    struct input in;
    int r = input_open_whole(&in, path, FILE_MAX, "a table of events", error);

    if (r < 0)
        return r;
    r = xen_user_events_parse(table, path, (const char *)input_at(&in), input_buffered(&in), error);
    input_done(&in);
    return r;
}
