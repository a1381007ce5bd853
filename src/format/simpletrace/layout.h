/* SPDX-License-Identifier: MIT */
#pragma once

/* Sizes and numbers of a simpletrace file's records; simpletrace.c has the table of bytes. For the reader alone. */

#include <stdint.h>

#define DROPPED_ID UINT64_C(0xfffffffffffffffe)

enum {
    TYPE_MAPPING = 0,
    TYPE_EVENT = 1,
};

#define V0_RECORD_SIZE 64
#define V0_HEAD_SIZE 16
#define EVENT_HEAD_SIZE 24   /* id, time, length, pid */
#define MAPPING_HEAD_SIZE 12 /* id, length */
#define TYPE_SIZE 8
#define EVENT_SIZE_MAX (256 * 1024) /* of what is read; the writer's own buffer has no more */
#define NAME_MAX_LEN 256
