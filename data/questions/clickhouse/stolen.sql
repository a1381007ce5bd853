-- Which tasks ran while the threads of vCPUs waited for the same CPU, today: how long, by host.
-- Waits and runs are cut into pieces of 10 ms, which are joined, as ClickHouse 18 joins by equal values only.
SELECT host, by, sum(least(wait_end, run_end) - greatest(wait_begin, run_begin)) AS stolen_ns
FROM
(
    SELECT host, trace, cpu, begin_ns AS wait_begin, end_ns AS wait_end,
        arrayJoin(range(toUInt64(intDiv(end_ns, 10000000) - intDiv(begin_ns, 10000000) + 1))) + intDiv(begin_ns, 10000000) AS piece
    FROM state
    WHERE kind = 'thread' AND vcpu IS NOT NULL AND state IN ('woken', 'preempted', 'runnable')
        AND day = (SELECT max(day) FROM trace)
)
ALL INNER JOIN
(
    SELECT host, trace, cpu, name AS by, begin_ns AS run_begin, end_ns AS run_end,
        arrayJoin(range(toUInt64(intDiv(end_ns, 10000000) - intDiv(begin_ns, 10000000) + 1))) + intDiv(begin_ns, 10000000) AS piece
    FROM state
    WHERE kind = 'thread' AND state = 'running' AND day = (SELECT max(day) FROM trace)
) USING host, trace, cpu, piece
-- Once for each pair: in the piece in which they begin to overlap.
WHERE least(wait_end, run_end) > greatest(wait_begin, run_begin)
    AND piece = intDiv(greatest(wait_begin, run_begin), 10000000)
GROUP BY host, by
ORDER BY stolen_ns DESC
LIMIT 20
