/* SPDX-License-Identifier: MIT */
#include "schema/kernel/symbols.h"

#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "base/map.h"
#include "base/number.h"

struct symbol {
    uint64_t address;
    uint32_t name; /* in the text */
    uint32_t len;
};

/* Addresses looked up lately: call sites repeat. A power of two. */
#define RECENT 1024
#define NONE UINT32_MAX

struct kernel_symbols {
    char *text;
    struct symbol *symbols;
    size_t n_symbols;
    size_t capacity;
    struct map names; /* made at the first look-up by name */
    struct {
        uint64_t address;
        uint32_t symbol; /* or NONE */
        bool used;
    } recent[RECENT];
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

#define EVERY_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* The eight digits at S, in lower case. */
static bool read_hex8(const char *s, uint64_t *ret)
{
    uint64_t v = load_u64_swap(s, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

    v = (v & EVERY_BYTE(15)) + (v >> 6 & EVERY_BYTE(1)) * 9;
    v = (v | v >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    v = (v | v >> 8) & UINT64_C(0x0000ffff0000ffff);
    *ret = (v | v >> 16) & UINT32_MAX;
    return number_hex8((uint32_t)*ret) == load_u64(s);
}

/* Where the word at P ends. */
static const char *skip_word(const char *p, const char *end)
{
    /* Eight bytes at a time, up to those with one of 0x20 or less. */
    while (end - p >= 8 && !((load_u64(p) - EVERY_BYTE(0x21)) & ~load_u64(p) & EVERY_BYTE(0x80)))
        p += 8;
    while (p < end && !is_blank(*p))
        p++;
    return p;
}

/* "ffffffff810001c0 T name	[module]": 1, 0: valid but of no use, -EBADMSG. */
static int parse_symbol(const char *text, const char *p, const char *end, struct symbol *ret)
{
    uint64_t address = 0, low;
    const char *name;
    unsigned n = 0;
    char kind;
    int digit;

    while (p < end && is_blank(*p))
        p++;
    if (end - p >= 16 && read_hex8(p, &address) && read_hex8(p + 8, &low)) {
        address = address << 32 | low;
        p += 16;
        n = 16;
    } else {
        address = 0;
        for (; p < end && n < 16 && (digit = number_hex_digit(*p)) >= 0; p++, n++)
            address = address << 4 | (unsigned)digit;
    }
    if (n == 0)
        return -EBADMSG;
    while (p < end && is_blank(*p))
        p++;
    if (p == end)
        return -EBADMSG;
    kind = *p++;
    while (p < end && is_blank(*p))
        p++;
    name = p;
    p = skip_word(p, end);
    if (p == name)
        return -EBADMSG;
    /* Mapping symbols of ARM; absolute ones, which on x86-64 are offsets of per-CPU variables. */
    if (*name == '$' || kind == 'A' || kind == 'a')
        return 0;
    *ret = (struct symbol){
        .address = address, .name = (uint32_t)(name - text), .len = (uint32_t)(p - name)};
    return 1;
}

static int add_symbol(struct kernel_symbols *symbols, struct symbol symbol)
{
    if (symbols->n_symbols == symbols->capacity) {
        size_t capacity = symbols->capacity ? symbols->capacity * 2 : 4096;
        struct symbol *bigger = realloc(symbols->symbols, capacity * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        symbols->symbols = bigger;
        symbols->capacity = capacity;
    }
    symbols->symbols[symbols->n_symbols++] = symbol;
    return 0;
}

/* Sorts by address; at one address, the symbol that comes later in the text is first. Which of several names is shown
 * is arbitrary, but it should be the same as in other tools. */
static int compare_symbols(const void *pa, const void *pb)
{
    const struct symbol *a = pa, *b = pb;

    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->name > b->name ? -1 : a->name < b->name;
}

/* The kernel lists most of them in the order of their addresses: each is moved to its place, unless they turn out to need many
 * moves. */
static void sort_symbols(struct symbol *symbols, size_t n)
{
    size_t moves_left = 4 * n;

    for (size_t i = 1; i < n; i++) {
        struct symbol symbol = symbols[i];
        size_t at = i;

        for (; at > 0 && moves_left > 0 && compare_symbols(&symbol, &symbols[at - 1]) < 0;
             at--, moves_left--)
            symbols[at] = symbols[at - 1];
        symbols[at] = symbol;
        if (moves_left == 0) {
            qsort(symbols, n, sizeof *symbols, compare_symbols);
            return;
        }
    }
}

int kernel_symbols_new(char *text, size_t len, struct kernel_symbols **ret_symbols)
{
    struct kernel_symbols *symbols = calloc(1, sizeof *symbols);
    const char *end = text + MIN(len, (size_t)UINT32_MAX);

    if (!symbols) {
        free(text);
        return -ENOMEM;
    }
    symbols->text = text;
    for (const char *line = text; line < end;) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        struct symbol symbol;
        int r;

        if (!line_end)
            line_end = end;
        if (line_end > line) {
            r = parse_symbol(text, line, line_end, &symbol);
            if (r < 0)
                break;
            if (r > 0 && add_symbol(symbols, symbol) < 0) {
                kernel_symbols_free(symbols);
                return -ENOMEM;
            }
        }
        line = line_end + 1;
    }
    sort_symbols(symbols->symbols, symbols->n_symbols);
    *ret_symbols = symbols;
    return 0;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
    if (!symbols)
        return;
    map_done(&symbols->names);
    free(symbols->symbols);
    free(symbols->text);
    free(symbols);
}

/* Halving. Where several symbols have one address, which of them is hit depends on the steps; these
 * are the ones of the C library's bsearch(), so that the choice is the same as other tools'. A symbol
 * reaches up to the next one's address; the last reaches nowhere. */
static uint32_t find_symbol(const struct kernel_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->n_symbols;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct symbol *s = &symbols->symbols[middle];
        uint64_t next = middle + 1 < symbols->n_symbols ? s[1].address : 0;

        if (address == s->address || (address > s->address && address < next))
            return (uint32_t)middle;
        if (address < s->address)
            high = middle;
        else
            low = middle + 1;
    }
    return NONE;
}

const char *kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address, size_t *ret_len,
                                uint64_t *ret_start)
{
    size_t at = (size_t)((address ^ address >> 10 ^ address >> 20) & (RECENT - 1));
    const struct symbol *symbol;

    if (!symbols->recent[at].used || symbols->recent[at].address != address) {
        symbols->recent[at].used = true;
        symbols->recent[at].address = address;
        symbols->recent[at].symbol = find_symbol(symbols, address);
    }
    if (symbols->recent[at].symbol == NONE)
        return NULL;
    symbol = &symbols->symbols[symbols->recent[at].symbol];
    *ret_len = symbol->len;
    *ret_start = symbol->address;
    return symbols->text + symbol->name;
}

uint64_t kernel_symbols_address(struct kernel_symbols *symbols, const char *name)
{
    const struct symbol *symbol;

    if (symbols->names.used == 0) {
        /* Backwards, so that the first of several symbols stays. */
        for (size_t i = symbols->n_symbols; i-- > 0;) {
            struct symbol *s = &symbols->symbols[i];
            if (map_put_str(&symbols->names, symbols->text + s->name, s->len, s) < 0)
                break;
        }
    }
    symbol = map_get_str(&symbols->names, name, strlen(name));
    return symbol ? symbol->address : 0;
}

static int compare_strings(const void *pa, const void *pb)
{
    const struct kernel_string *a = pa, *b = pb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    /* The first in the text stays the first. */
    return a->s < b->s ? -1 : a->s > b->s;
}

/* What parses a line ends it first: ASan's strict_string_checks look for the end of the string that strtol() is given, which
 * would be that of the whole text.
 *
 * "0xffffffff8234aef8 : "CPU_ON"": the string without its quotes and a "\n" at its end. */
static bool parse_printk(char *line, char *end, struct kernel_string *ret)
{
    char *colon = memchr(line, ':', (size_t)(end - line));
    char *s;

    if (!colon || end - colon < 2)
        return false;
    *end = '\0';
    ret->key = strtoull(line, NULL, 16);
    s = colon + 2;
    if (s < end && *s == '"')
        s++;
    if (end > s && end[-1] == '"')
        end--;
    if (end - s >= 2 && end[-2] == '\\' && end[-1] == 'n')
        end -= 2;
    *end = '\0';
    ret->s = s;
    ret->len = (uint32_t)(end - s);
    return true;
}

/* "157 ls" */
static bool parse_cmdline(char *line, char *end, struct kernel_string *ret)
{
    char *s;
    long pid;

    *end = '\0';
    pid = strtol(line, &s, 10);
    if (s == line || s >= end || pid < 0 || pid > INT32_MAX)
        return false;
    while (s < end && is_blank(*s))
        s++;
    if (s == end)
        return false;
    ret->key = (uint64_t)pid;
    ret->s = s;
    ret->len = (uint32_t)(end - s);
    return true;
}

static int read_strings(char *text, size_t len,
                        bool (*parse)(char *line, char *end, struct kernel_string *ret),
                        struct kernel_strings *ret)
{
    struct kernel_strings strings = {.text = text};
    char *end = text + MIN(len, (size_t)UINT32_MAX);
    size_t capacity = 0;

    for (char *line = text; line < end;) {
        char *line_end = memchr(line, '\n', (size_t)(end - line));

        if (!line_end)
            line_end = end;
        if (strings.n_entries == capacity) {
            struct kernel_string *bigger;
            capacity = capacity ? capacity * 2 : 64;
            bigger = realloc(strings.entries, capacity * sizeof *bigger);
            if (!bigger) {
                kernel_strings_done(&strings);
                return -ENOMEM;
            }
            strings.entries = bigger;
        }
        if (parse(line, line_end, &strings.entries[strings.n_entries]))
            strings.n_entries++;
        line = line_end + 1;
    }
    if (strings.n_entries)
        qsort(strings.entries, strings.n_entries, sizeof *strings.entries, compare_strings);
    *ret = strings;
    return 0;
}

int kernel_strings_read_printk(char *text, size_t len, struct kernel_strings *ret)
{
    return read_strings(text, len, parse_printk, ret);
}

int kernel_strings_read_cmdlines(char *text, size_t len, struct kernel_strings *ret)
{
    return read_strings(text, len, parse_cmdline, ret);
}

void kernel_strings_done(struct kernel_strings *strings)
{
    free(strings->entries);
    free(strings->text);
    *strings = (struct kernel_strings){0};
}

const struct kernel_string *kernel_strings_find(const struct kernel_strings *strings, uint64_t key)
{
    size_t low = 0, high = strings->n_entries;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (strings->entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < strings->n_entries && strings->entries[low].key == key)
        return &strings->entries[low];
    return NULL;
}
