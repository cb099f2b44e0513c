-- Which calling contexts cost most, over all runs and threads? `context` is the same number wherever the same methods called each other.
WITH contexts AS (
    SELECT
        n.context,
        p.context AS caller,
        n.depth,
        m.class,
        m.method,
        m.descriptor,
        m.native,
        COUNT(DISTINCT n.run_id) AS runs,
        SUM(n.calls) AS calls,
        SUM(n.bytecodes) AS bytecodes,
        SUM(n.bytecodes_total) AS bytecodes_total
    FROM nodes n
    JOIN methods m ON m.run_id = n.run_id AND m.method_id = n.method_id
    LEFT JOIN nodes p ON p.run_id = n.run_id AND p.node_id = n.parent_id
    WHERE n.run_id IN (SELECT run_id FROM runs)
    GROUP BY n.context, p.context, n.depth, m.class, m.method, m.descriptor, m.native
),
-- A caller may be native on one JDK and Java on another.
callers AS (SELECT DISTINCT context, class, method FROM contexts)
SELECT
    c.context,
    c.depth,
    callers.class AS caller_class,
    callers.method AS caller_method,
    c.class,
    c.method,
    c.descriptor,
    c.native,
    c.runs,
    c.calls,
    c.bytecodes,
    c.bytecodes_total
FROM contexts c
LEFT JOIN callers ON callers.context = c.caller
ORDER BY c.bytecodes DESC, c.context
