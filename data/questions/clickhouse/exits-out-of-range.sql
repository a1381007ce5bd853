-- Hosts whose VM exits of today take another time, at their 99th percentile, than on any of the seven days before.
-- Durations in ns. Today is the last day that any host has sent.
SELECT host, today_p99, lowest, highest, round(today_p99 / highest, 2) AS times_highest
FROM
(
    SELECT host, quantileExact(0.99)(assumeNotNull(duration_ns)) AS today_p99
    FROM span
    WHERE name = 'exit' AND cut IS NULL AND day = (SELECT max(day) FROM trace)
    GROUP BY host
)
ANY INNER JOIN
(
    SELECT host, min(p99) AS lowest, max(p99) AS highest
    FROM
    (
        SELECT host, day, quantileExact(0.99)(assumeNotNull(duration_ns)) AS p99
        FROM span
        WHERE name = 'exit' AND cut IS NULL
            AND day < (SELECT max(day) FROM trace) AND day >= (SELECT max(day) FROM trace) - 7
        GROUP BY host, day
    )
    GROUP BY host
) USING host
WHERE today_p99 > highest OR today_p99 < lowest
ORDER BY times_highest DESC
