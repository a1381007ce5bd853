/* SPDX-License-Identifier: MIT */
#pragma once

/* The text of ftrace's tracer function_graph: a call of a function is one line or two, which become the events
 * funcgraph_entry and funcgraph_exit.
 *
 *     [SECONDS.MICROSECONDS |] CPU) [COMM-PID |] [FLAGS |] [MARK DURATION us] |  FUNCTION() {        it begins,
 *     …                                                                       |  }                    and ends
 *     …                                                                       |  FUNCTION();          both
 *     …                                                                       |  NAME: TEXT in a comment of C: another event
 *     … CPU) ==========> |                                                    an interrupt begins; <==========: and ends
 *      CPU)  COMM-PID  =>  COMM-PID                                            another thread runs on the CPU
 *
 * Each level of calls is indented by two blanks. A "}" may have the function in a comment; otherwise it is the one that began at
 * this level on the thread or, if that is not known, on the CPU. Times are those of the option funcgraph-abstime: without them they
 * are not known. They have no digits beyond microseconds, and durations have: a function ends its duration after its begin, if
 * that is the microsecond of the line, and no event is earlier than the one before it on its CPU.
 *
 * trace-cmd report prints "[MARK DURATION us] |  FUNCTION() {" and the like after funcgraph_entry or funcgraph_exit, on lines
 * that have task, CPU and time as those of other events (format/kernel_text/line.h).
 *
 * Source: Linux, Documentation/trace/ftrace.rst, and kernel/trace/trace_functions_graph.c for what is printed. */

#include "base/arena.h"
#include "base/map.h"
#include "format/kernel_text/line.h"

#define GRAPH_CPUS 1024u
#define GRAPH_DEPTH 64u
#define GRAPH_TEXT 256u

/* The functions that have begun and not ended. */
struct graph_stack {
    const char *functions[GRAPH_DEPTH];
    int64_t begun[GRAPH_DEPTH]; /* or TIME_UNKNOWN */
};

struct graph {
    struct arena arena;
    struct map functions; /* by name: the name, once */
    struct map stacks;    /* by thread, or by CPU: struct graph_stack */
    struct graph_cpu {
        bool is_known;
        int32_t pid;
        char comm[16];
        int64_t last; /* no event of it is earlier */
    } cpus[GRAPH_CPUS];
    char text[GRAPH_TEXT]; /* of the event that was made last */
};

void graph_init(struct graph *graph);
void graph_done(struct graph *graph);

/* Whether the line of LEN bytes is one of this tracer: *RET has its CPU, and its time or TIME_UNKNOWN. */
bool graph_probe(const char *text, size_t len, struct kernel_line *ret);
/* The event number PART of the line, from 0 on: *RET, which is valid until the next call. Returns how many events the line has, up
 * to 2: call it for each, in order. -EINVAL: it is no line of this tracer; -ENOMEM. */
int graph_read(struct graph *graph, const char *text, size_t len, unsigned part,
               struct kernel_line *ret);
/* The same of EVENT, funcgraph_entry or funcgraph_exit in what trace-cmd report prints. */
int graph_read_event(struct graph *graph, const struct kernel_line *event, unsigned part,
                     struct kernel_line *ret);
