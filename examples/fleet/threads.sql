-- What did the threads do, by name?
SELECT n.thread, COUNT(DISTINCT n.run_id) AS runs, SUM(n.calls) AS calls, SUM(n.bytecodes) AS bytecodes
FROM nodes n
JOIN methods m ON m.run_id = n.run_id AND m.method_id = n.method_id AND NOT m.native
WHERE n.run_id IN (SELECT run_id FROM runs)
GROUP BY n.thread
ORDER BY bytecodes DESC, n.thread
