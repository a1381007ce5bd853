/* SPDX-License-Identifier: MIT */
#pragma once

/* A kernel of one event, number 7, whose format a test makes; little-endian, unless its facts say otherwise. */

#include <stdlib.h>
#include <string.h>

#include "event/program.h"
#include "schema/kernel/events.h"

#define COMMON                                                                     \
    "format:\n"                                                                    \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* A kernel of one event. */
struct kernel {
    struct kernel_formats formats;
    const char *text;
    const char *system;
    struct catalogue catalogue;
    struct kernel_events *events;
    struct origin origin;
};

static int lend(struct kernel_formats *formats, uint16_t id, struct kernel_format *ret)
{
    struct kernel *k = container_of(formats, struct kernel, formats);

    if (id != 7)
        return -ENOENT;
    *ret = (struct kernel_format){.text = k->text, .len = strlen(k->text), .system = k->system};
    return 0;
}

static const char symbols_text[] = "0000000000000000 A fixed_percpu_data\n"
                                   "ffffffff81000000 T _stext\n"
                                   "ffffffff81000000 T _text\n"
                                   "ffffffff81000100 t schedule\n"
                                   "ffffffff81000200 t $a\n"
                                   "ffffffff81000300 t in_module\t[mod]\n"
                                   "ffffffff81000400 T last\n";

static int kallsyms(struct kernel_formats *formats, char **ret_text, size_t *ret_len)
{
    (void)formats;
    *ret_text = strdup(symbols_text);
    *ret_len = sizeof symbols_text - 1;
    return 0;
}

static void nothing(struct kernel_formats *formats)
{
    (void)formats;
}

static inline void kernel_open(struct kernel *k, const char *text, struct kernel_facts facts)
{
    static const char printk[] = "0xffffffff82000000 : \"constant\"\n"
                                 "0xffffffff82000010 : \"%d of %s at %pS, %5.2x%% %lu\\n\"\n"
                                 "no address\n";

    *k = (struct kernel){.formats = {.format = lend, .kallsyms = kallsyms, .free = nothing},
                         .text = text,
                         .system = "made"};
    facts.swap = facts.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    facts.long_size = facts.long_size ? facts.long_size : 8;
    assert_int_equal(kernel_events_new(&k->catalogue, &facts, &k->formats, &k->events), 0);
    assert_int_equal(kernel_events_read_printk(k->events, strdup(printk), sizeof printk - 1), 0);
    kernel_events_set_origin(k->events, &k->origin);
}

static inline void kernel_close(struct kernel *k)
{
    kernel_events_unref(k->events);
    catalogue_done(&k->catalogue);
}

/* Checks the text of an event, which lies in memory that ends where it ends. */
static inline void assert_text(struct kernel *k, const void *event, size_t size,
                               const char *expected)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct item item = {.origin = &k->origin, .payload = copy, .size = (uint32_t)size};
    struct text text = TEXT_IN_MEMORY;

    memcpy(copy, event, size);
    item.class = kernel_events_class(k->events, 7);
    assert_non_null(item.class);
    item_put_text(&item, &text);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, expected);
    text_done(&text);
    free(copy);
}
