-- What cannot be relied on: of each host, the traces that lost events, and the largest error of a time in ns.
SELECT host, count() AS traces, sum(lost) AS lost_events, sum(lost_unknown) AS traces_with_uncounted_losses, max(worst_ns) AS largest_error_ns
FROM
(SELECT host, trace, lost, lost_unknown FROM trace)
ANY LEFT JOIN
(SELECT host, trace, max(assumeNotNull(error_ns)) AS worst_ns FROM event WHERE error_ns IS NOT NULL GROUP BY host, trace) USING host, trace
GROUP BY host
ORDER BY lost_events DESC, largest_error_ns DESC, host
