-- The slowest disk requests of today, as their guests saw them, and how long QEMU's and the thread pool's requests took that
-- lie within them. Durations in ns.
SELECT host, trace, begin_ns, key, duration_ns,
    sumIf(inner_end - inner_begin, stage = 'virtio-blk') AS in_qemu_ns,
    sumIf(inner_end - inner_begin, stage = 'thread-pool') AS in_thread_pool_ns
FROM
(
    SELECT host, trace, begin_ns, assumeNotNull(end_ns) AS end_ns, key, duration_ns
    FROM span
    WHERE name = 'block' AND layer = 'guest' AND cut IS NULL AND day = (SELECT max(day) FROM trace)
    ORDER BY duration_ns DESC
    LIMIT 10
)
ALL LEFT JOIN
(
    SELECT host, trace, name AS stage, begin_ns AS inner_begin, assumeNotNull(end_ns) AS inner_end
    FROM span
    WHERE name IN ('virtio-blk', 'thread-pool') AND cut IS NULL AND day = (SELECT max(day) FROM trace)
) USING host, trace
WHERE inner_begin >= begin_ns AND inner_end <= end_ns
GROUP BY host, trace, begin_ns, key, duration_ns
ORDER BY duration_ns DESC
