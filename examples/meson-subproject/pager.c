/* SPDX-License-Identifier: MIT */

/* Page replacement by the clock algorithm: a guest's memory of many pages in a few frames of the
 * host's. Traced:
 *
 *     pager FRAMES r1 w2 r1 …       reads and writes of pages; prints faults and writes to swap */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace-pager.h"

#define FRAMES_MAX 64

struct frame {
    uint64_t page;
    bool present, used, dirty;
};

static struct frame frames[FRAMES_MAX];
static unsigned n_frames, hand;
static unsigned faults, writes;

static unsigned free_frame(void)
{
    for (;; hand = (hand + 1) % n_frames) {
        struct frame *frame = &frames[hand];

        if (frame->present && frame->used) {
            trace_page_second_chance(frame->page);
            frame->used = false;
            continue;
        }
        if (frame->present) {
            trace_page_evict(frame->page, hand, frame->dirty);
            writes += frame->dirty;
        }
        return hand;
    }
}

static void touch(uint64_t page, bool write)
{
    unsigned i = 0;

    while (i < n_frames && !(frames[i].present && frames[i].page == page))
        i++;
    if (i == n_frames) {
        i = free_frame();
        trace_page_fault(page, i);
        faults++;
        frames[i] = (struct frame){.page = page, .present = true};
        hand = (i + 1) % n_frames;
    }
    frames[i].used = true;
    frames[i].dirty |= write;
}

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

    if (n < 1 || n > FRAMES_MAX) {
        fprintf(stderr, "Usage: pager FRAMES rPAGE|wPAGE…   (FRAMES: 1 to %d)\n", FRAMES_MAX);
        return 2;
    }
    n_frames = (unsigned)n;
    for (int i = 2; i < argc; i++) {
        bool known = argv[i][0] == 'r' || argv[i][0] == 'w';
        char *end = argv[i];
        uint64_t page = known ? strtoull(argv[i] + 1, &end, 10) : 0;

        if (!known || end == argv[i] + 1 || *end) {
            fprintf(stderr, "pager: '%s' is neither rPAGE nor wPAGE\n", argv[i]);
            return 2;
        }
        touch(page, argv[i][0] == 'w');
    }
    printf("%u faults, %u pages written\n", faults, writes);
    return 0;
}
