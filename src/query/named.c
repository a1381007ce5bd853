/* SPDX-License-Identifier: MIT */
/* Queries that ship with Strata. Except for percentile() and duration(), they also run on the export to SQLite. */
#include "query/query.h"

const struct named_query named_queries[] = {
    {"events", "events by layer and name",
     "SELECT layer, event_group, event, sum(events) AS n FROM class\n"
     "GROUP BY layer, event_group, event ORDER BY n DESC"},
    {"spans", "spans by name: number, sum, percentiles, largest",
     "SELECT name, count(*) AS n, duration(sum(duration_ns)) AS sum, "
     "duration(percentile(duration_ns, 50)) AS p50,\n"
     "       duration(percentile(duration_ns, 99)) AS p99, duration(max(duration_ns)) AS max\n"
     "FROM span WHERE cut IS NULL GROUP BY name ORDER BY sum(duration_ns) DESC"},
    {"slowest", "the 20 longest spans",
     "SELECT begin_ns, duration(duration_ns) AS duration, layer, name, key, cpu, pid, vcpu\n"
     "FROM span WHERE cut IS NULL ORDER BY duration_ns DESC LIMIT 20"},
    {"slowest-waits", "what the threads of the 20 longest spans did meanwhile",
     "WITH slow AS MATERIALIZED (SELECT * FROM span WHERE cut IS NULL AND pid > 0\n"
     "              ORDER BY duration_ns DESC LIMIT 20)\n"
     "SELECT slow.begin_ns, duration(slow.duration_ns) AS duration, slow.name, slow.pid, "
     "state.state,\n"
     "       duration(sum(min(state.end_ns, slow.end_ns) - max(state.begin_ns, slow.begin_ns))) AS "
     "in_state\n"
     "FROM slow JOIN state ON state.kind = 'thread' AND state.source = slow.source AND state.id = "
     "slow.pid\n"
     "     AND state.begin_ns < slow.end_ns AND state.end_ns > slow.begin_ns\n"
     "GROUP BY slow.begin_ns, slow.name, slow.pid, state.state\n"
     "ORDER BY slow.duration_ns DESC, sum(min(state.end_ns, slow.end_ns) - max(state.begin_ns, "
     "slow.begin_ns)) DESC"},
    {"states", "time of threads by state",
     "SELECT source, id AS pid, max(name) AS comm, state, count(*) AS n, "
     "duration(sum(duration_ns)) AS sum\n"
     "FROM state WHERE kind = 'thread' GROUP BY source, id, state ORDER BY sum(duration_ns) DESC"},
    {"cpus", "time of CPUs by state",
     "SELECT source, layer, id AS cpu, state, duration(sum(duration_ns)) AS sum\n"
     "FROM state WHERE kind = 'cpu' GROUP BY source, id, state ORDER BY source, id, "
     "sum(duration_ns) DESC"},
    {"steal", "guests' vCPUs that could run and did not",
     "SELECT source, name AS vcpu,\n"
     "       duration(sum(duration_ns) FILTER (WHERE state <> 'unknown')) AS waited,\n"
     "       duration(max(duration_ns) FILTER (WHERE state <> 'unknown')) AS longest,\n"
     "       duration(sum(duration_ns) FILTER (WHERE state = 'unknown')) AS unknown\n"
     "FROM state WHERE kind = 'vcpu' AND state IN ('woken', 'preempted', 'runnable', 'unknown')\n"
     "GROUP BY source, id\n"
     "ORDER BY sum(duration_ns) FILTER (WHERE state <> 'unknown') DESC, source, id"},
    {"losses", "what was lost, and where",
     "SELECT source, cpu, cause, count(*) AS places, sum(lost) AS events, sum(lost IS NULL) AS "
     "unknown\n"
     "FROM loss GROUP BY source, cpu, cause ORDER BY events DESC"},
    {"clocks", "how the clocks of the sources relate, and how exactly",
     "SELECT source.id, source.layer, source.path, clock.clock, clock.relation, count(clock.point) "
     "AS points,\n"
     "       duration(max(clock.error_ns)) AS error\n"
     "FROM source JOIN clock ON clock.source = source.id GROUP BY source.id"},
    {0},
};
