/* SPDX-License-Identifier: MIT */
#pragma once

/* A kernel of three events, for targets whose input is something else. */

#include <stdlib.h>
#include <string.h>

#include "schema/kernel/events.h"

#define KERNEL_COMMON                                                              \
    "format:\n"                                                                    \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char *const kernel_fixture_texts[] = {
    "name: numbers\nID: 1\n" KERNEL_COMMON "\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:long b;\toffset:16;\tsize:8;\tsigned:1;\n\n"
    "print fmt: \"a=%u b=%ld %s %pS\", REC->a, REC->b, __print_flags(REC->a & 7, \"|\", { 1, "
    "\"x\" }, { 2, \"y\" }), (void *)REC->b\n",
    "name: strings\nID: 2\n" KERNEL_COMMON "\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:1;\n\n"
    "print fmt: \"%s %s\", REC->comm, __get_str(name)\n",
    "name: print\nID: 5\n" KERNEL_COMMON
    "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:1;\n\n"
    "print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
};

static int kernel_fixture_format(struct kernel_formats *formats, uint16_t id,
                                 struct kernel_format *ret)
{
    const char *text = id == 1   ? kernel_fixture_texts[0]
                       : id == 2 ? kernel_fixture_texts[1]
                       : id == 5 ? kernel_fixture_texts[2]
                                 : NULL;

    (void)formats;
    if (!text)
        return -ENOENT;
    *ret = (struct kernel_format){.text = text, .len = strlen(text), .system = "fixture"};
    return 0;
}

static int kernel_fixture_kallsyms(struct kernel_formats *formats, char **ret_text, size_t *ret_len)
{
    (void)formats;
    (void)ret_text;
    (void)ret_len;
    return -ENOENT;
}

static void kernel_fixture_free(struct kernel_formats *formats)
{
    (void)formats;
}

static struct kernel_formats kernel_fixture = {.format = kernel_fixture_format,
                                               .kallsyms = kernel_fixture_kallsyms,
                                               .free = kernel_fixture_free};
