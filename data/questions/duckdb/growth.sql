-- Events whose number per host and day has more than doubled since the day before.
WITH last_day AS (SELECT max(day) AS day FROM source)
SELECT host, layer, event, count(*) FILTER (event.day = last_day.day - 1) AS before,
    count(*) FILTER (event.day = last_day.day) AS today, round(today / before, 1) AS times
FROM event, last_day
WHERE event.day >= last_day.day - 1
GROUP BY host, layer, event
HAVING before > 0 AND today > 2 * before
ORDER BY times DESC, today DESC;
