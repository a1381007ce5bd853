/* SPDX-License-Identifier: MIT */
/* Stands for QEMU's: the records of a simpletrace file. */
#pragma once

#define MAX_TRACE_STRLEN 512

typedef struct {
    unsigned start, next;
} TraceBufferRecord;

/* 0, or other than that when there is no room. SIZE is how much the arguments take. */
int trace_record_start(TraceBufferRecord *rec, uint32_t id, size_t size);
void trace_record_write_u64(TraceBufferRecord *rec, uint64_t value);
void trace_record_write_str(TraceBufferRecord *rec, const char *s, uint32_t len);
void trace_record_finish(TraceBufferRecord *rec);
