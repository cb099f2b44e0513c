-- Which methods became dearer from one run of a program to the next in which they ran? Exact counts have no noise: each row is a change.
WITH cost AS (
    SELECT r.main_class, r.started, r.run_id, m.class, m.method, m.descriptor, m.calls, m.bytecodes
    FROM runs r
    JOIN methods m ON m.run_id = r.run_id
    WHERE NOT m.native
),
steps AS (
    SELECT
        *,
        LAG(run_id) OVER (PARTITION BY main_class, class, method, descriptor ORDER BY started, run_id) AS run_before,
        LAG(bytecodes) OVER (PARTITION BY main_class, class, method, descriptor ORDER BY started, run_id) AS bytecodes_before
    FROM cost
)
SELECT main_class, class, method, descriptor, run_before, run_id, bytecodes_before, bytecodes, bytecodes - bytecodes_before AS more
FROM steps
WHERE bytecodes > bytecodes_before
ORDER BY more DESC, class, method, descriptor, run_id
LIMIT 50
