-- Which tasks ran while the threads of vCPUs waited for the same CPU, today: how long, by host.
WITH today AS (SELECT max(day) AS day FROM source),
wait AS
(
    SELECT trace, host, cpu, begin_ns, end_ns FROM state
    WHERE kind = 'thread' AND vcpu IS NOT NULL AND state IN ('woken', 'preempted', 'runnable')
        AND day = (SELECT day FROM today)
),
run AS
(
    SELECT trace, cpu, name AS "by", begin_ns, end_ns FROM state
    WHERE kind = 'thread' AND state = 'running' AND day = (SELECT day FROM today)
)
SELECT host, "by", sum(least(wait.end_ns, run.end_ns) - greatest(wait.begin_ns, run.begin_ns)) AS stolen_ns
FROM wait JOIN run ON wait.trace = run.trace AND wait.cpu = run.cpu
    AND wait.begin_ns < run.end_ns AND run.begin_ns < wait.end_ns
GROUP BY host, "by"
ORDER BY stolen_ns DESC
LIMIT 20;
