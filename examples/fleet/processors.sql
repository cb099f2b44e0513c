-- How many cycles would all runs have taken on each processor, with each method cache? And how often did the caches miss?
SELECT metric, target, cache, COUNT(DISTINCT run_id) AS runs, SUM(value) AS total
FROM metrics
WHERE run_id IN (SELECT run_id FROM runs)
GROUP BY metric, target, cache
ORDER BY metric, target, cache
