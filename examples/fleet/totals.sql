-- How much was counted, in all runs together? The numbers are those of cprof report on the runs merged.
SELECT
    (SELECT COUNT(*) FROM runs) AS runs,
    SUM(CASE WHEN native THEN 0 ELSE calls END) AS calls,
    SUM(CASE WHEN native THEN calls ELSE 0 END) AS native_calls,
    SUM(exceptional_exits) AS exceptional_exits,
    SUM(bytecodes) AS bytecodes
FROM methods
WHERE run_id IN (SELECT run_id FROM runs)
