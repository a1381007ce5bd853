/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses the text of ftrace's tracer function_graph. A function call is one line or two lines, which become the events
 * funcgraph_entry and funcgraph_exit.
 *
 *     [SECONDS.MICROSECONDS |] CPU) [COMM-PID |] [FLAGS |] [MARK DURATION us] |  FUNCTION() {        it begins,
 *     …                                                                       |  }                    and ends
 *     …                                                                       |  FUNCTION();          both
 *     …                                                                       |  NAME: TEXT in a comment of C: another event
 *     … CPU) ==========> |                                                    an interrupt begins; <==========: and ends
 *      CPU)  COMM-PID  =>  COMM-PID                                            another thread runs on the CPU
 *
 * Each level of calls is indented by two blanks. A "}" may have the function in a comment. Otherwise, it ends the
 * function that began at this level on the thread or, if the thread is unknown, on the CPU. Times are unknown without
 * the option funcgraph-abstime. Times have microseconds, but durations are more exact. So the end of a function is its
 * begin plus its duration, if that is in the microsecond of the line; and no event is earlier than the previous event
 * on its CPU.
 *
 * trace-cmd report prints "[MARK DURATION us] | FUNCTION() {" and the like after funcgraph_entry or funcgraph_exit, on
 * lines that have task, CPU and time like other events (format/kernel_text/line.h).
 *
 * Source: Linux, Documentation/trace/ftrace.rst, and kernel/trace/trace_functions_graph.c for what is printed. */

#include "base/arena.h"
#include "base/map.h"
#include "format/kernel_text/line.h"

#define GRAPH_CPUS 1024u
#define GRAPH_DEPTH 64u
#define GRAPH_TEXT 256u

/* The functions that have not ended. */
struct graph_stack {
    const char *functions[GRAPH_DEPTH];
    int64_t begun[GRAPH_DEPTH]; /* or TIME_UNKNOWN */
};

struct graph {
    struct arena arena;
    struct map functions; /* by name: each name once */
    struct map stacks;    /* by thread, or by CPU: struct graph_stack */
    struct graph_cpu {
        bool is_known;
        int32_t pid;
        char comm[16];
        int64_t last; /* time of the last event; later events are not earlier */
    } cpus[GRAPH_CPUS];
    char text[GRAPH_TEXT]; /* text of the last event */
};

void graph_init(struct graph *graph);
void graph_done(struct graph *graph);

/* True if the line of LEN bytes is from this tracer. *RET has its CPU, and its time or TIME_UNKNOWN. */
bool graph_probe(const char *text, size_t len, struct kernel_line *ret);
/* Reads event number PART of the line, from 0, into *RET, which is valid until the next call. Returns how many events
 * the line has, at most 2; call it for each in order. -EINVAL: not a line of this tracer; -ENOMEM. */
int graph_read(struct graph *graph, const char *text, size_t len, unsigned part,
               struct kernel_line *ret);
/* The same for EVENT, a funcgraph_entry or funcgraph_exit that trace-cmd report has printed. */
int graph_read_event(struct graph *graph, const struct kernel_line *event, unsigned part,
                     struct kernel_line *ret);
