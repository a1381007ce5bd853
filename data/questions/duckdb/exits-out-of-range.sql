-- Hosts whose VM exits of today take another time, at their 99th percentile, than on any of the seven days before.
-- Durations in ns. Today is the last day of any trace.
WITH today AS (SELECT max(day) AS day FROM source),
by_day AS
(
    SELECT host, span.day, list(duration_ns ORDER BY duration_ns)[1 + count(*) * 99 // 100] AS p99
    FROM span, today
    WHERE name = 'exit' AND cut IS NULL AND span.day BETWEEN today.day - 7 AND today.day
    GROUP BY host, span.day
)
SELECT host, max(p99) FILTER (day = (SELECT day FROM today)) AS today_p99,
    min(p99) FILTER (day < (SELECT day FROM today)) AS lowest, max(p99) FILTER (day < (SELECT day FROM today)) AS highest,
    round(today_p99 / highest, 2) AS times_highest
FROM by_day
GROUP BY host
HAVING today_p99 > highest OR today_p99 < lowest
ORDER BY times_highest DESC;
