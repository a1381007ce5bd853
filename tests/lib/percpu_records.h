/* SPDX-License-Identifier: MIT */
#pragma once

/* An area of per-CPU buffers for a test, and a reader that checks all that it reads. A test that wants a
 * clock of its own defines STRATA_PERCPU_CYCLES before. Emission is by the thread's `self`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct strata_percpu_cpu *self;
#define STRATA_PERCPU_SELF() self
#include "strata/percpu.h"

/* Also in signal handlers and threads, where cmocka cannot end a test. */
#define expect(e)                                                                  \
    do {                                                                           \
        if (!(e)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #e); \
            abort();                                                               \
        }                                                                          \
    } while (0)

#define CPUS_MAX 8
static struct strata_percpu_cpu cpus[CPUS_MAX];
static struct strata_percpu_area area;

static void *area_memory;

static void make_area(uint32_t n_cpus, uint32_t pages, const struct strata_percpu_hooks *hooks)
{
    struct strata_percpu_options options = {.n_cpus = n_cpus, .pages = pages, .name = "test"};
    size_t size = strata_percpu_size(&options);

    free(area_memory);
    area_memory = aligned_alloc(4096, size);
    expect(area_memory);
    memset(area_memory, 0, size);
    expect(strata_percpu_init(area_memory, size, &options, &strata_percpu_control) == 0);
    memset(cpus, 0, sizeof(cpus));
    for (uint32_t i = 0; i < n_cpus; i++)
        expect(strata_percpu_cpu_init(&cpus[i], strata_percpu_control, i, hooks) == 0);
    expect(strata_percpu_area_init(&area, area_memory, size) == 0);
    strata_percpu_control->masks.enabled = 1;
    self = &cpus[0];
}

/* What a record says. */
struct seen_record {
    uint32_t event;
    bool has_cycles;
    unsigned n_words;
    uint64_t cycles;
    uint32_t words[7];
    uint32_t size;
};

/* A consumer of one buffer, with what it has seen. */
struct reader {
    struct strata_percpu_view view;
    unsigned cpu;
    uint64_t cycles;      /* of the last record that has any */
    uint64_t lost_cycles; /* of the last LOST_RECORDS that told all */
    uint64_t n_records, n_lost, n_lost_records, n_fillers;
    uint64_t n_fillers_of[10]; /* by words */
    void (*on_record)(struct reader *reader, const struct seen_record *record);
};

static struct reader reader_of(unsigned cpu,
                               void (*on_record)(struct reader *, const struct seen_record *))
{
    struct reader reader = {.cpu = cpu, .on_record = on_record};

    expect(strata_percpu_area_view(&area, cpu, &reader.view) == 0);
    return reader;
}

static struct seen_record parse(const uint8_t *at, size_t size)
{
    struct seen_record record = {0};
    uint32_t header;

    expect(size >= 4);
    memcpy(&header, at, 4);
    record.event = header & 0x0fffffff;
    record.has_cycles = header >> 31;
    record.n_words = header >> 28 & 7;
    record.size = 4 + 8U * record.has_cycles + 4 * record.n_words;
    expect(record.size <= size); /* whole, and not across the ring's end */
    if (record.has_cycles) {
        uint32_t low_first[2];

        memcpy(low_first, at + 4, sizeof low_first);
        record.cycles = low_first[0] | (uint64_t)low_first[1] << 32;
    }
    if (record.event != STRATA_TRC_WRAP_BUFFER) /* whose words mean nothing */
        memcpy(record.words, at + 4 + 8 * record.has_cycles, 4 * record.n_words);
    return record;
}

static void read_record(struct reader *reader, const struct seen_record *record, bool last)
{
    uint64_t first;

    if (record->has_cycles) {
        expect(record->cycles >= reader->cycles);
        reader->cycles = record->cycles;
    }
    switch (record->event) {
    case STRATA_TRC_WRAP_BUFFER:
        expect(last); /* at the ring's end, and only what a record did not fit into */
        expect(record->size < 40);
        reader->n_fillers++;
        reader->n_fillers_of[record->size / 4 - 1]++;
        break;
    case STRATA_TRC_LOST_RECORDS:
        expect(record->has_cycles && record->n_words == 4);
        expect(record->words[0] > 0);
        first = record->words[2] | (uint64_t)record->words[3] << 32;
        expect(first <= record->cycles && first >= reader->lost_cycles);
        if (record->words[0] < UINT32_MAX)
            reader->lost_cycles = record->cycles;
        reader->n_lost += record->words[0];
        reader->n_lost_records++;
        break;
    default: reader->n_records++;
    }
    if (reader->on_record)
        reader->on_record(reader, record);
}

/* Reads what is there, at most MOST records, and releases it. Returns how many bytes it read. */
static size_t read_some(struct reader *reader, uint64_t most)
{
    struct strata_percpu_window windows[2];
    size_t bytes = 0;

    expect(strata_percpu_view_windows(&reader->view, windows) >= 0);
    for (unsigned i = 0; i < 2; i++)
        for (size_t at = 0; at < windows[i].size && most > 0; most--) {
            struct seen_record record = parse(windows[i].data + at, windows[i].size - at);

            at += record.size;
            bytes += record.size;
            read_record(reader, &record,
                        windows[i].data + at == reader->view.data + reader->view.size);
        }
    expect(strata_percpu_view_release(&reader->view, bytes) == 0);
    return bytes;
}

static inline size_t read_all(struct reader *reader)
{
    return read_some(reader, UINT64_MAX);
}

/* What is published, without reading it: all whole. Returns how many bytes. */
static inline size_t look(unsigned cpu)
{
    struct reader reader = reader_of(cpu, NULL);
    struct strata_percpu_window windows[2];

    expect(strata_percpu_view_windows(&reader.view, windows) >= 0);
    for (unsigned i = 0; i < 2; i++)
        for (size_t at = 0; at < windows[i].size;) {
            struct seen_record record = parse(windows[i].data + at, windows[i].size - at);

            at += record.size;
            read_record(&reader, &record,
                        windows[i].data + at == reader.view.data + reader.view.size);
        }
    return windows[0].size + windows[1].size;
}

static inline uint64_t pending(unsigned cpu)
{
    uint64_t first;

    return strata_percpu_area_lost(&area, cpu, &first);
}

/* Nothing is under way on the CPU: all that was given away is published. */
static inline void expect_at_rest(const struct strata_percpu_cpu *cpu)
{
    expect(cpu->reserve == cpu->committed);
    expect(cpu->buffer[1] == strata_percpu_prod(cpu->reserve, cpu->size));
}
