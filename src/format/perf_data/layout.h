/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers of perf.data (format/perf_data/perf_data.h). Source: linux/perf_event.h and perf.data-file-format.txt. */

#include <stdint.h>

enum perf_record_type {
    RECORD_MMAP = 1,
    RECORD_LOST = 2, /* u64 id, u64 n */
    RECORD_COMM = 3, /* u32 pid, u32 tid, text */
    RECORD_EXIT = 4,
    RECORD_THROTTLE = 5,   /* u64 time, u64 id, u64 stream id */
    RECORD_UNTHROTTLE = 6, /* the same */
    RECORD_FORK = 7,       /* u32 pid, ppid, tid, ptid, u64 time */
    RECORD_SAMPLE = 9,
    RECORD_LOST_SAMPLES = 13, /* u64 n */
    RECORD_SWITCH = 14,
    RECORD_SWITCH_CPU_WIDE = 15, /* u32 pid, u32 tid: of the task before or after */
    RECORD_KERNEL_LAST = 22,
    RECORD_USER_FIRST = 64,
    RECORD_HEADER_ATTR = 64,  /* perf_event_attr, u64 ids */
    RECORD_TRACING_DATA = 66, /* u32 size; so many bytes follow, and padding to 8 */
    RECORD_FINISHED_ROUND = 68,
    RECORD_ID_INDEX = 69,     /* u64 n; n times u64 id, index, cpu, tid */
    RECORD_AUXTRACE = 71,     /* u64 size, …; so many bytes follow */
    RECORD_STAT_CONFIG = 75,  /* of perf stat */
    RECORD_EVENT_UPDATE = 78, /* u64 kind, u64 id, of kind 2: text */
    RECORD_TIME_CONV = 79,
    RECORD_HEADER_FEATURE = 80, /* u64 feature, its bytes */
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83, /* u64 size, so many bytes, padding to 8; all are in the record */
    RECORD_USER_LAST = 84,
};

#define RECORD_HEADER_SIZE 8

enum perf_misc {
    MISC_CPUMODE = 7, /* of these */
    MISC_GUEST_KERNEL = 4,
    MISC_GUEST_USER = 5,
    MISC_SWITCH_OUT = 1 << 13,
    MISC_SWITCH_OUT_PREEMPT = 1 << 14,
};

#define EVENT_UPDATE_NAME 2

enum perf_sample_bit {
    SAMPLE_IP = 1 << 0,
    SAMPLE_TID = 1 << 1,
    SAMPLE_TIME = 1 << 2,
    SAMPLE_ADDR = 1 << 3,
    SAMPLE_READ = 1 << 4,
    SAMPLE_CALLCHAIN = 1 << 5,
    SAMPLE_ID = 1 << 6,
    SAMPLE_CPU = 1 << 7,
    SAMPLE_PERIOD = 1 << 8,
    SAMPLE_STREAM_ID = 1 << 9,
    SAMPLE_RAW = 1 << 10,
    SAMPLE_IDENTIFIER = 1 << 16,
};

enum perf_read_bit {
    READ_TIME_ENABLED = 1 << 0,
    READ_TIME_RUNNING = 1 << 1,
    READ_ID = 1 << 2,
    READ_GROUP = 1 << 3,
    READ_LOST = 1 << 4,
};

/* Bits of the attribute's flags; format/perf_data/attr.c. */
#define ATTR_FREQ (UINT64_C(1) << 10)
#define ATTR_WRITE_BACKWARD (UINT64_C(1) << 27)
#define ATTR_EXCLUDE_HOST (UINT64_C(1) << 19)
#define ATTR_EXCLUDE_GUEST (UINT64_C(1) << 20)
#define ATTR_SAMPLE_ID_ALL (UINT64_C(1) << 18)
#define ATTR_USE_CLOCKID (UINT64_C(1) << 25)

enum perf_event_type {
    EVENT_HARDWARE = 0,
    EVENT_SOFTWARE = 1,
    EVENT_TRACEPOINT = 2,
};

enum perf_feature {
    FEATURE_TRACING_DATA = 1,
    FEATURE_HOSTNAME = 3,
    FEATURE_OSRELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_NRCPUS = 7,
    FEATURE_CPUDESC = 8,
    FEATURE_CPUID = 9,
    FEATURE_TOTAL_MEM = 10,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_AUXTRACE = 18,
    FEATURE_STAT = 19, /* empty: the file is of perf stat */
    FEATURE_SAMPLE_TIME = 21,
    FEATURE_CLOCKID = 23,
    FEATURE_DIR_FORMAT = 24,
    FEATURE_COMPRESSED = 27,
    FEATURE_CLOCK_DATA = 29,
    FEATURES_MAX = 256,
};
