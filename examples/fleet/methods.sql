-- Which methods cost most, over all runs? In how many runs were they called?
SELECT
    class,
    method,
    descriptor,
    native,
    COUNT(DISTINCT run_id) AS runs,
    SUM(calls) AS calls,
    SUM(exceptional_exits) AS exceptional_exits,
    SUM(bytecodes) AS bytecodes,
    SUM(bytecodes_total) AS bytecodes_total
FROM methods
WHERE run_id IN (SELECT run_id FROM runs)
GROUP BY class, method, descriptor, native
ORDER BY bytecodes DESC, class, method, descriptor, native
