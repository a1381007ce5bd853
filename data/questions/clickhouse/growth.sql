-- Events whose number per host and day has more than doubled since the day before.
SELECT host, layer, event, before, today, round(today / before, 1) AS times
FROM
(SELECT host, layer, event, count() AS today FROM event WHERE day = (SELECT max(day) FROM trace) GROUP BY host, layer, event)
ANY INNER JOIN
(SELECT host, layer, event, count() AS before FROM event WHERE day = (SELECT max(day) FROM trace) - 1 GROUP BY host, layer, event)
USING host, layer, event
WHERE today > 2 * before
ORDER BY times DESC, today DESC
