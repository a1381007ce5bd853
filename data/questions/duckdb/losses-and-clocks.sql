-- What cannot be relied on: of each host, the traces that lost events, and the largest error of a time in ns.
WITH lost AS (SELECT trace, sum(lost) AS n, bool_or(lost IS NULL) AS unknown FROM loss GROUP BY trace),
worst AS (SELECT trace, max(error_ns) AS ns FROM event GROUP BY trace)
SELECT host, count(*) AS traces, coalesce(sum(lost.n), 0) AS lost_events,
    count(*) FILTER (lost.unknown) AS traces_with_uncounted_losses, coalesce(max(worst.ns), 0) AS largest_error_ns
FROM (SELECT DISTINCT host, trace FROM source) LEFT JOIN lost USING (trace) LEFT JOIN worst USING (trace)
GROUP BY host
ORDER BY lost_events DESC, largest_error_ns DESC, host;
