/* SPDX-License-Identifier: MIT */
#pragma once

/* Sizes and numbers of a simpletrace file's records; simpletrace.c has the byte table. Only for the reader. */

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
/* limit of the reader; the writer's own buffer is not larger */
#define TYPE_SIZE 8
#define EVENT_SIZE_MAX (256 * 1024)
#define NAME_MAX_LEN 256
