-- The slowest disk requests of today, as their guests saw them, and how long QEMU's and the thread pool's requests took that
-- lie within them. Durations in ns.
WITH today AS (SELECT max(day) AS day FROM source),
request AS
(
    SELECT host, trace, begin_ns, end_ns, key, duration_ns
    FROM span
    WHERE name = 'block' AND layer = 'guest' AND cut IS NULL AND day = (SELECT day FROM today)
    ORDER BY duration_ns DESC
    LIMIT 10
),
inner_request AS
(
    SELECT trace, name AS stage, begin_ns, end_ns
    FROM span
    WHERE name IN ('virtio-blk', 'thread-pool') AND cut IS NULL AND day = (SELECT day FROM today)
)
SELECT host, request.trace, request.begin_ns, key, duration_ns,
    coalesce(sum(i.end_ns - i.begin_ns) FILTER (stage = 'virtio-blk'), 0) AS in_qemu_ns,
    coalesce(sum(i.end_ns - i.begin_ns) FILTER (stage = 'thread-pool'), 0) AS in_thread_pool_ns
FROM request LEFT JOIN inner_request AS i
    ON i.trace = request.trace AND i.begin_ns >= request.begin_ns AND i.end_ns <= request.end_ns
GROUP BY ALL
ORDER BY duration_ns DESC, host;
