/* SPDX-License-Identifier: MIT */
#include "schema/trace_events/suggest_type.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/suggest.h"
#include "schema/trace_events/c_type.h"

static const char *const c_words[] = {
    "bool",     "char",    "const",     "int",      "int16_t", "int32_t",   "int64_t",  "int8_t",
    "long",     "short",   "signed",    "size_t",   "ssize_t", "ptrdiff_t", "uint16_t", "uint32_t",
    "uint64_t", "uint8_t", "uintptr_t", "unsigned", "void",    NULL,
};

/* What other headers, kernels and systems call C's types. "": is left out. */
static const struct {
    const char *name;
    const char *meaning;
} aliases[] = {
    {"BOOL", "bool"},
    {"BYTE", "uint8_t"},
    {"DWORD", "uint32_t"},
    {"QWORD", "uint64_t"},
    {"WORD", "uint16_t"},
    {"_Bool", "bool"},
    {"__int128", "uint64_t"},
    {"__int16", "int16_t"},
    {"__int32", "int32_t"},
    {"__int64", "int64_t"},
    {"__int8", "int8_t"},
    {"__restrict", ""},
    {"__s16", "int16_t"},
    {"__s32", "int32_t"},
    {"__s64", "int64_t"},
    {"__s8", "int8_t"},
    {"__u16", "uint16_t"},
    {"__u32", "uint32_t"},
    {"__u64", "uint64_t"},
    {"__u8", "uint8_t"},
    {"abi_long", "int64_t"},
    {"abi_ulong", "uint64_t"},
    {"auto", ""},
    {"boolean", "bool"},
    {"byte", "uint8_t"},
    {"dma_addr_t", "uint64_t"},
    {"extern", ""},
    {"gboolean", "bool"},
    {"gchar", "char"},
    {"gint", "int"},
    {"gint16", "int16_t"},
    {"gint32", "int32_t"},
    {"gint64", "int64_t"},
    {"gint8", "int8_t"},
    {"glong", "long"},
    {"gpointer", "void *"},
    {"gsize", "size_t"},
    {"gssize", "ssize_t"},
    {"guchar", "unsigned char"},
    {"guint", "unsigned int"},
    {"guint16", "uint16_t"},
    {"guint32", "uint32_t"},
    {"guint64", "uint64_t"},
    {"guint8", "uint8_t"},
    {"gulong", "unsigned long"},
    {"hwaddr", "uint64_t"},
    {"i16", "int16_t"},
    {"i32", "int32_t"},
    {"i64", "int64_t"},
    {"i8", "int8_t"},
    {"inline", ""},
    {"int16", "int16_t"},
    {"int32", "int32_t"},
    {"int64", "int64_t"},
    {"int8", "int8_t"},
    {"int_fast16_t", "int64_t"},
    {"int_fast32_t", "int64_t"},
    {"int_fast64_t", "int64_t"},
    {"intmax_t", "int64_t"},
    {"intptr_t", "ptrdiff_t"},
    {"isize", "ssize_t"},
    {"mode_t", "uint32_t"},
    {"off64_t", "int64_t"},
    {"off_t", "int64_t"},
    {"pcibus_t", "uint64_t"},
    {"pid_t", "int"},
    {"ram_addr_t", "uint64_t"},
    {"register", ""},
    {"restrict", ""},
    {"s16", "int16_t"},
    {"s32", "int32_t"},
    {"s64", "int64_t"},
    {"s8", "int8_t"},
    {"static", ""},
    {"str", "const char *"},
    {"string", "const char *"},
    {"target_long", "int64_t"},
    {"target_ulong", "uint64_t"},
    {"time_t", "int64_t"},
    {"u16", "uint16_t"},
    {"u32", "uint32_t"},
    {"u64", "uint64_t"},
    {"u8", "uint8_t"},
    {"u_char", "unsigned char"},
    {"u_int", "unsigned int"},
    {"u_int16_t", "uint16_t"},
    {"u_int32_t", "uint32_t"},
    {"u_int64_t", "uint64_t"},
    {"u_int8_t", "uint8_t"},
    {"u_long", "unsigned long"},
    {"uchar", "unsigned char"},
    {"uint", "unsigned int"},
    {"uint16", "uint16_t"},
    {"uint32", "uint32_t"},
    {"uint64", "uint64_t"},
    {"uint8", "uint8_t"},
    {"uint_fast16_t", "uint64_t"},
    {"uint_fast32_t", "uint64_t"},
    {"uint_fast64_t", "uint64_t"},
    {"uintmax_t", "uint64_t"},
    {"ulong", "unsigned long"},
    {"ulonglong", "unsigned long long"},
    {"ushort", "unsigned short"},
    {"usize", "size_t"},
    {"vaddr", "uint64_t"},
    {"volatile", ""},
};

static bool same(const char *s, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(s, word, len) == 0;
}

static bool is_float(const char *s, size_t len)
{
    return same(s, len, "float") || same(s, len, "double") || same(s, len, "gdouble") ||
           same(s, len, "gfloat") || same(s, len, "f32") || same(s, len, "f64");
}

static bool is_tag(const char *s, size_t len)
{
    return same(s, len, "struct") || same(s, len, "union") || same(s, len, "class");
}

/* What an unknown word probably means; NULL: no suggestion. */
static const char *meaning_of(const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
        if (same(s, len, aliases[i].name))
            return aliases[i].meaning;
    return suggest_find(s, len, c_words);
}

/* What the words of a type say about it. */
struct guess {
    char type[96]; /* with what was meant in place of the words that are not known */
    unsigned stars;
    bool is_const;
    bool is_tag;
    bool is_enum;
    bool is_float;
    bool is_strange; /* has an unknown word */
};

static void append(struct guess *guess, const char *s, size_t len)
{
    size_t used = strlen(guess->type);
    bool blank = used > 0 && guess->type[used - 1] != '*';

    if (len > 0)
        snprintf(guess->type + used, sizeof guess->type - used, "%s%.*s", blank ? " " : "",
                 (int)MIN(len, sizeof guess->type), s);
}

static struct guess guess_type(const char *s, size_t len)
{
    struct guess guess = {.type = ""};
    const char *end = s + len;
    bool tagged = false;
    size_t n;

    for (const char *p = s; (n = c_type_token(&p, end)) > 0; p += n) {
        const char *meaning;

        if (*p == '*') {
            guess.stars++;
            append(&guess, p, n);
        } else if (c_type_is_word(p, n)) {
            guess.is_const = guess.is_const || same(p, n, "const");
            append(&guess, p, n);
        } else if (is_tag(p, n) || same(p, n, "enum")) {
            guess.is_tag = is_tag(p, n);
            guess.is_enum = !guess.is_tag;
            tagged = true;
            continue;
        } else if (is_float(p, n)) {
            guess.is_float = true;
        } else if (tagged) {
            /* the tag itself */
        } else if ((meaning = meaning_of(p, n))) {
            append(&guess, meaning, strlen(meaning));
        } else {
            guess.is_strange = true;
        }
        tagged = false;
    }
    return guess;
}

/* "unsigned int64_t" and its like. */
static bool fix_sign(struct guess *guess)
{
    const char *number = strstr(guess->type, "int");
    bool is_unsigned = strstr(guess->type, "unsigned") != NULL;
    unsigned bits;

    if (number && sscanf(number, "int%2u_t", &bits) == 1) {
        snprintf(guess->type, sizeof guess->type, "%s%sint%u_t%s", guess->is_const ? "const " : "",
                 is_unsigned || (number > guess->type && number[-1] == 'u') ? "u" : "", bits,
                 guess->stars ? " *" : "");
        return true;
    }
    if (strstr(guess->type, "size_t")) {
        snprintf(guess->type, sizeof guess->type, "%ssize_t%s", is_unsigned ? "" : "s",
                 guess->stars ? " *" : "");
        return true;
    }
    return false;
}

bool suggest_type_suggest(const char *s, size_t len, char *buf, size_t size)
{
    struct guess guess = guess_type(s, len);
    struct c_type type = c_type_parse(guess.type, strlen(guess.type));

    if (guess.is_float && guess.stars == 0) {
        snprintf(buf, size, "events have no floating point: scale it to an integer, as 'int64_t'");
        return true;
    }
    if (guess.stars > 0 &&
        (guess.is_tag || guess.is_enum || guess.is_strange || guess.is_float || type.invalid)) {
        snprintf(buf, size, "write '%svoid %s'", guess.is_const ? "const " : "",
                 guess.stars > 1 ? "**" : "*");
        return true;
    }
    if (guess.is_tag) {
        snprintf(buf, size, "pass a pointer to it as 'void *', or its members one by one");
        return true;
    }
    if (guess.is_enum) {
        snprintf(buf, size, "write 'int'");
        return true;
    }
    if (guess.is_strange || type.unknown || (type.invalid && !fix_sign(&guess)))
        return false;
    snprintf(buf, size, "write '%s'", guess.type);
    return true;
}

bool suggest_type_gap(const char *s, size_t len, const char **ret_gap)
{
    const char *end = s + len;
    size_t n;

    for (const char *p = s; (n = c_type_token(&p, end)) > 0; p += n) {
        const char *next = p + n;
        struct c_type before;
        size_t next_len;

        if (*p == '*' || c_type_is_word(p, n))
            continue;
        before = c_type_parse(s, (size_t)(p - s));
        next_len = c_type_token(&next, end);
        if (before.unknown || before.invalid || p == s || next_len == 0 || *next == '*' ||
            is_tag(p, n) || is_float(p, n) || same(p, n, "enum") || meaning_of(p, n))
            return false;
        *ret_gap = p + n;
        return true;
    }
    return false;
}

bool suggest_type_is_char(const char *s, size_t len)
{
    const struct guess guess = guess_type(s, len);

    return strcmp(guess.type, "char") == 0 || strcmp(guess.type, "const char") == 0;
}
