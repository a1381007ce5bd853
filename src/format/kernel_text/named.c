/* SPDX-License-Identifier: MIT */
#include "format/kernel_text/named.h"

#include <string.h>

#include "base/macro.h"

#define VALUE_SIZE 8u
#define ENTER "sys_enter_"
#define EXIT "sys_exit_"

enum call { CALL_NONE, CALL_ENTER, CALL_EXIT };

static bool begins(const char *p, size_t len, const char *with)
{
    size_t n = strlen(with);

    return len >= n && memcmp(p, with, n) == 0;
}

static enum call call_of(const struct kernel_line *line)
{
    if (line->call_prefix)
        return strcmp(line->call_prefix, ENTER) == 0 ? CALL_ENTER : CALL_EXIT;
    if (line->group_len > 0 && !(line->group_len == 8 && memcmp(line->group, "syscalls", 8) == 0))
        return CALL_NONE;
    return begins(line->name, line->name_len, ENTER)  ? CALL_ENTER
           : begins(line->name, line->name_len, EXIT) ? CALL_EXIT
                                                      : CALL_NONE;
}

const char *kernel_named_group(const struct kernel_line *line)
{
    return call_of(line) != CALL_NONE ? "syscalls" : NULL;
}

/* ---- Values ---- */

static bool is_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The digits of a number at P, up to END, with or without 0x. Returns how many signs they take; 0: it is none. */
static size_t read_hex(const char *p, const char *end, uint64_t *ret)
{
    size_t skipped = begins(p, (size_t)(end - p), "0x") ? 2 : 0, n = 0;
    uint64_t v = 0;

    for (p += skipped; p + n < end; n++) {
        char c = p[n];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (digit < 0)
            break;
        if (n == 16)
            return 0;
        v = v << 4 | (uint64_t)digit;
    }
    *ret = v;
    return n > 0 ? skipped + n : 0;
}

/* The whole of LEN bytes at P as a decimal number, "-131". */
static bool read_decimal(const char *p, size_t len, uint64_t *ret)
{
    bool is_negative = len > 0 && *p == '-';
    uint64_t v = 0;

    if (len - is_negative == 0 || len - is_negative > 18)
        return false;
    for (size_t i = is_negative; i < len; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(p[i] - '0');
    }
    *ret = is_negative ? -v : v;
    return true;
}

/* NULL: there are too many. */
static struct kernel_named_field *add(struct kernel_named *named, const char *name, size_t len,
                                      char type)
{
    struct kernel_named_field *field = &named->fields[named->n];

    if (named->n == KERNEL_NAMED_MAX || len == 0 || len > UINT8_MAX)
        return NULL;
    *field = (struct kernel_named_field){.name = name, .name_len = (uint8_t)len, .type = type};
    named->n++;
    return field;
}

/* ---- "NAME: VALUE, NAME: VALUE" ---- */

/* Finds the end of the value at P, before ", ". A text in quotes may follow the number. */
static const char *find_value_end(const char *p, const char *end)
{
    bool is_quoted = false;

    for (; p < end; p++) {
        if (*p == '"' && (!is_quoted || p + 1 == end || p[1] == ','))
            is_quoted = !is_quoted;
        else if (!is_quoted && *p == ',' && end - p > 1 && p[1] == ' ')
            break;
    }
    return p;
}

static bool read_arguments(const char *p, const char *end, struct kernel_named *named)
{
    while (p < end) {
        const char *colon = memmem(p, (size_t)(end - p), ": ", 2);
        const char *name = colon, *stop;
        struct kernel_named_field *field;
        size_t n;

        if (!colon)
            return false;
        while (name > p && is_name(name[-1]))
            name--;
        stop = find_value_end(colon + 2, end);
        field = add(named, name, (size_t)(colon - name), 'x');
        n = field ? read_hex(colon + 2, stop, &field->number) : 0;
        if (n == 0 || (colon + 2 + n < stop && colon[2 + n] != ' '))
            return false;
        p = stop + MIN(end - stop, 2);
    }
    return named->n > 0;
}

/* ---- "NAME=VALUE NAME=VALUE" ---- */

/* Where the value at P ends: before the next " NAME=". */
static const char *find_next_name(const char *p, const char *end)
{
    for (; p < end; p++) {
        const char *q = p + 1;

        if (*p != ' ')
            continue;
        while (q < end && is_name(*q))
            q++;
        if (q > p + 1 && q < end && *q == '=')
            break;
    }
    return p;
}

/* The number of "0x10 (16)" or "(16)", or of a system call alone; as TYPE says, in hexadecimal or with a sign. */
static bool read_number(const char *p, size_t len, bool is_call, char type, uint64_t *ret)
{
    const char *open = len > 2 && p[len - 1] == ')' ? memrchr(p, '(', len) : NULL;
    bool is_twice = open && open > p && begins(p, len, "0x") &&
                    read_hex(p, open, ret) == (size_t)(open - p) - 1;

    if (open && type == 'd')
        return (open == p || is_twice) && read_decimal(open + 1, (size_t)(p + len - open) - 2, ret);
    if (open)
        return is_twice;
    return is_call &&
           ((type == 'd' && read_decimal(p, len, ret)) || read_hex(p, p + len, ret) == len);
}

/* A value of TEXT, at P: a number, or a text, without the address behind the name of a function. */
static void read_value(const char *text, const char *p, size_t len, bool is_call,
                       struct kernel_named_field *field)
{
    const char *open = len > 2 && p[len - 1] == ')' ? memrchr(p, '(', len) : NULL;

    if (read_number(p, len, is_call, field->type, &field->number))
        return;
    if (open && open > p + 1 && open[-1] == ' ')
        len = (size_t)(open - 1 - p);
    field->type = 's';
    field->number = (uint64_t)(p - text) | (uint64_t)len << 32;
}

static bool read_pairs(const char *text, const char *end, enum call call,
                       struct kernel_named *named)
{
    for (const char *p = text, *stop; p < end; p = stop + (stop < end)) {
        const char *equals = memchr(p, '=', (size_t)(end - p));
        const char *name_end = p;
        struct kernel_named_field *field;
        bool is_argument;

        while (name_end < end && is_name(*name_end))
            name_end++;
        if (!equals || name_end != equals)
            return false;
        is_argument = call == CALL_ENTER && !begins(p, (size_t)(equals - p), "__syscall_nr");
        stop = find_next_name(equals + 1, end);
        /* "(0xffff88810492b01c)" is where the value is in the kernel's buffer. */
        if (begins(equals + 1, (size_t)(stop - equals) - 1, "(0x"))
            continue;
        field = add(named, p, (size_t)(equals - p), is_argument ? 'x' : 'd');
        if (!field)
            return false;
        read_value(text, equals + 1, (size_t)(stop - equals - 1), call != CALL_NONE, field);
    }
    return named->n > 0;
}

/* The option `fields` prints a number twice: "0x10 (16)". */
static bool has_numbers_twice(const char *p, size_t len)
{
    const char *end = p + len;
    uint64_t v;
    size_t n;

    for (; (p = memmem(p, (size_t)(end - p), "=0x", 3)); p += 3) {
        n = read_hex(p + 1, end, &v);
        if (n > 0 && begins(p + 1 + n, (size_t)(end - p - 1) - n, " ("))
            return true;
    }
    return false;
}

bool kernel_named_read(const struct kernel_line *line, struct kernel_named *ret)
{
    const char *p = line->text;
    size_t len = line->text_len;
    enum call call = call_of(line);

    ret->n = 0;
    while (len > 0 && p[len - 1] == ' ')
        len--;
    if (call == CALL_EXIT && !memchr(p, '=', len)) {
        struct kernel_named_field *ret_field = add(ret, "ret", 3, 'd');

        return (len > 0 && read_hex(p, p + len, &ret_field->number) == len) ||
               read_decimal(p, len, &ret_field->number);
    }
    if (call == CALL_ENTER && !begins(p, len, "__syscall_nr="))
        return read_arguments(p, p + len, ret);
    return (call != CALL_NONE || has_numbers_twice(p, len)) && read_pairs(p, p + len, call, ret);
}

/* ---- Fields ---- */

bool kernel_named_put_types(const struct kernel_named *named, char *buf, size_t size)
{
    size_t at = 0;

    for (unsigned i = 0; i < named->n; i++) {
        const struct kernel_named_field *field = &named->fields[i];

        if (size - at < (size_t)field->name_len + 4)
            return false;
        memcpy(buf + at, field->name, field->name_len);
        at += field->name_len;
        buf[at++] = ':';
        buf[at++] = field->type;
        buf[at++] = ',';
    }
    buf[at] = '\0';
    return true;
}

uint32_t kernel_named_put(const struct kernel_named *named, uint8_t *p)
{
    const uint32_t size = named->n * VALUE_SIZE;

    for (unsigned i = 0; i < named->n; i++) {
        uint64_t v = named->fields[i].number;
        /* As the kernel has a string of any length: its length and where it is. */
        uint32_t place = (uint32_t)(v >> 32) << 16 | ((uint32_t)v + size);

        memcpy(p + (size_t)i * VALUE_SIZE, &v, sizeof v);
        if (named->fields[i].type == 's')
            memcpy(p + (size_t)i * VALUE_SIZE, &place, sizeof place);
    }
    return size;
}

struct field *kernel_named_fields(const struct kernel_named *named, struct arena *arena)
{
    struct field *fields = arena_alloc(arena, (named->n + 1) * sizeof *fields);

    for (unsigned i = 0; i < named->n && fields; i++) {
        const struct kernel_named_field *from = &named->fields[i];
        const char *name = arena_strndup(arena, from->name, from->name_len);

        if (!name)
            return NULL;
        fields[i] = (struct field){.name = name,
                                   .c_type = from->type == 'd' ? "int64_t" : "uint64_t",
                                   .type = from->type == 'd' ? FIELD_INT : FIELD_UINT,
                                   .place = PLACE_FIXED,
                                   .storage = STORE_SCALAR,
                                   .offset = i * VALUE_SIZE,
                                   .size = VALUE_SIZE,
                                   .hex = from->type == 'x'};
        if (from->type != 's')
            continue;
        fields[i].c_type = "const char *";
        fields[i].type = FIELD_STRING;
        fields[i].place = PLACE_DATA_LOC;
        fields[i].storage = STORE_ARRAY;
    }
    return fields;
}
