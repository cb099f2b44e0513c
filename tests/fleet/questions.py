"""Asks the questions of examples/fleet of a directory of tables, and compares the answers with cprof's.

questions.py FLEET ROOT A B C: FLEET as tests/fleet/run makes it, the repository, and how many runs of each recording there are in all.
Ends with the line "N passed, N failed".
"""

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import datafusion
import duckdb

FLEET, ROOT = Path(sys.argv[1]), Path(sys.argv[2])
TIMES = dict(zip("abc", map(int, sys.argv[3:6])))
TABLES = ["runs", "methods", "nodes", "metrics", "blocks"]
# What stands before a table's name in SQL: which tables they are.
DIRECTORIES = {"": "tables", "merged_": "merged", "javac_": "javac"}
results = Counter()


def check(what, found, expected):
    ok = found == expected
    results["passed" if ok else "failed"] += 1
    print(f"{'ok' if ok else 'FAILED'}: {what}" + ("" if ok else f"\n  found    {str(found)[:300]}\n  expected {str(expected)[:300]}"))


def report(name):
    return json.loads((FLEET / f"{name}.json").read_text())


def duck():
    connection = duckdb.connect()
    for table in TABLES:
        for prefix, directory in DIRECTORIES.items():
            connection.execute(f"CREATE VIEW {prefix}{table} AS SELECT * FROM read_parquet('{FLEET}/{directory}/{table}/*.parquet')")

    def ask(sql):
        answer = connection.execute(sql)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row)) for row in answer.fetchall()]

    return ask


def fusion():
    context = datafusion.SessionContext()
    for table in TABLES:
        for prefix, directory in DIRECTORIES.items():
            context.register_parquet(f"{prefix}{table}", f"{FLEET}/{directory}/{table}/")
    return lambda sql: [row for batch in context.sql(sql).collect() for row in batch.to_pylist()]


def by_name(rows, columns):
    # What is native on one JDK may be Java on another.
    return {(row["class"], row["method"], row["descriptor"], row["native"]): tuple(row[c] for c in columns) for row in rows}


def compare(engine, ask):
    question = lambda name: ask((ROOT / f"examples/fleet/{name}.sql").read_text())
    merged, tree = report("all"), json.loads((FLEET / "tree.json").read_text())

    (totals,) = question("totals")
    check(f"{engine}: there are 300 profiles", totals["runs"], 300)
    for column in ["calls", "native_calls", "exceptional_exits", "bytecodes"]:
        check(f"{engine}: {column} in total are those of cprof merge", totals[column], merged["totals"][column])
        alone = sum(times * report(run)["totals"][column] for run, times in TIMES.items())
        check(f"{engine}: {column} in total are those of the runs added up", totals[column], alone)

    columns = ["calls", "exceptional_exits", "bytecodes", "bytecodes_total"]
    check(f"{engine}: every method has the numbers of cprof merge", by_name(question("methods"), columns), by_name(merged["methods"], columns))

    # Contexts by path; cprof's tree has them by the index of the caller.
    def paths(rows, key, parent):
        known, sums = {None: ()}, Counter()
        for row in rows:
            name = f'{row["class"]}.{row["method"]}{row["descriptor"]}'
            known[row[key]] = known[row[parent]] + (name,)
            for column in ["calls", "exceptional_exits", "bytecodes"]:
                sums[known[row[key]], row["native"], column] += row[column]
        return sums

    # Of the merged profile alone: there may be a million contexts in the fleet.
    columns = "n.context, m.native, SUM(n.calls) AS calls, SUM(n.exceptional_exits) AS exits, SUM(n.bytecodes) AS bytecodes"
    one = "m.run_id = n.run_id AND m.method_id = n.method_id GROUP BY n.context, m.native ORDER BY n.context, m.native"
    fleet = ask(f"SELECT {columns} FROM nodes n JOIN methods m ON {one}")
    check(f"{engine}: contexts add up to those of the merged profile", fleet, ask(f"SELECT {columns} FROM merged_nodes n JOIN merged_methods m ON {one}"))
    nodes = ask(
        "SELECT n.node_id, n.parent_id, n.calls, n.exceptional_exits, n.bytecodes, m.class, m.method, m.descriptor, m.native "
        "FROM merged_nodes n JOIN merged_methods m ON m.method_id = n.method_id ORDER BY n.node_id"
    )
    sums = paths(nodes, "node_id", "parent_id")
    for row in tree["contexts"]:
        row["parent"] = row["parent"] or None
    check(f"{engine}: every context has the numbers of cprof merge", sums, paths(tree["contexts"], "index", "parent"))
    contexts = question("contexts")
    check(f"{engine}: a context is one row, whatever the run", len(contexts), len(tree["contexts"]))
    check(f"{engine}: contexts add up", sum(row["bytecodes"] for row in contexts), merged["totals"]["bytecodes"])
    check(f"{engine}: threads add up", sum(row["bytecodes"] for row in question("threads")), merged["totals"]["bytecodes"])

    numbers = {(row["metric"], row["target"]): row["total"] for row in question("processors")}
    cycles = merged["totals"]
    check(f"{engine}: cycles are those of cprof merge", numbers["cycles", "jop"], cycles["cycles"])
    check(f"{engine}: so are the misses", numbers["entry_misses", None], cycles["entry_misses"])
    check(f"{engine}: and those of returns", numbers["return_misses", None], cycles["return_misses"])
    (blocks,) = ask("SELECT SUM(bytecodes) AS bytecodes FROM blocks")
    check(f"{engine}: blocks add up", blocks["bytecodes"], merged["totals"]["bytecodes"])
    return question("regressions")


# More contexts than there are in a row group, or in what an engine reads at once.
def javac(engine, ask):
    reported = report("javac")
    (size,) = ask("SELECT COUNT(*) AS nodes, COUNT(DISTINCT node_id) AS ids, COUNT(parent_id) AS called FROM javac_nodes")
    check(f"{engine}: javac has more than 500,000 contexts, each with its own number", (size["nodes"] > 500_000, size["ids"]), (True, size["nodes"]))
    (callers,) = ask(
        "SELECT COUNT(*) AS n, SUM(CASE WHEN c.depth = p.depth + 1 AND c.thread = p.thread THEN 1 ELSE 0 END) AS below "
        "FROM javac_nodes c JOIN javac_nodes p ON c.parent_id = p.node_id"
    )
    check(f"{engine}: contexts of javac are below their callers", (callers["n"], callers["below"]), (size["called"], size["called"]))

    # By method, from the contexts. A metric has no row where it is 0.
    columns = ["calls", "exceptional_exits", "bytecodes"]
    sums = ", ".join(f"SUM(n.{column}) AS {column}" for column in columns)
    names = "m.class, m.method, m.descriptor, m.native"
    nodes = "javac_nodes n JOIN javac_methods m ON n.method_id = m.method_id"
    methods = ask(f"SELECT {names}, {sums} FROM {nodes} GROUP BY {names}")
    check(f"{engine}: every method of javac has the reported numbers", by_name(methods, columns), by_name(reported["methods"], columns))
    methods = ask("SELECT class, method, descriptor, native, bytecodes_total FROM javac_methods")
    totals = ["bytecodes_total"]
    check(f"{engine}: with callees, too", by_name(methods, totals), by_name(reported["methods"], totals))
    for metric in ["entry_misses", "return_misses", "cycles"]:
        methods = ask(
            f"SELECT {names}, SUM(x.value) AS sum FROM {nodes} JOIN javac_metrics x ON x.node_id = n.node_id "
            f"WHERE x.metric = '{metric}' GROUP BY {names}"
        )
        expected = by_name([row for row in reported["methods"] if row[metric] > 0], [metric])
        check(f"{engine}: every method of javac has the reported {metric}", by_name(methods, ["sum"]), expected)
        check(f"{engine}: {metric} of javac in total", sum(row["sum"] for row in methods), reported["totals"][metric])
    (totals,) = ask(
        "SELECT SUM(CASE WHEN m.native THEN n.calls ELSE 0 END) AS native_calls, SUM(CASE WHEN m.native THEN 0 ELSE n.calls END) AS calls, "
        f"SUM(n.exceptional_exits) AS exceptional_exits, SUM(n.bytecodes) AS bytecodes FROM {nodes}"
    )
    check(f"{engine}: the other totals of javac", totals, {column: reported["totals"][column] for column in totals})
    (blocks,) = ask("SELECT SUM(bytecodes) AS bytecodes FROM javac_blocks")
    check(f"{engine}: blocks of javac add up", blocks["bytecodes"], reported["totals"]["bytecodes"])


def documentation():
    os.chdir(FLEET)
    for link, to in [("fleet", FLEET / "tables"), ("examples", ROOT / "examples")]:
        Path(link).unlink(missing_ok=True)
        Path(link).symlink_to(to)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/fleet.md").read_text(), re.S)
    check("docs/fleet.md has Python in it", len(blocks) >= 3, True)
    for i, block in enumerate(blocks):
        try:
            exec(compile(block, f"docs/fleet.md, Python block {i + 1}", "exec"), {})
            failure = None
        except Exception as error:  # whatever a reader would run into
            failure = repr(error)
        check(f"docs/fleet.md: Python block {i + 1} runs", failure, None)


engines = {"DuckDB": duck(), "DataFusion": fusion()}
regressions = [compare(engine, ask) for engine, ask in engines.items()]
check("DataFusion: regressions are those of DuckDB", regressions[1], regressions[0])
check("there are regressions to tell", len(regressions[0]) > 0 and all(row["more"] > 0 for row in regressions[0]), True)
for engine, ask in engines.items():
    javac(engine, ask)
documentation()
print(f"{results['passed']} passed, {results['failed']} failed")
sys.exit(results["failed"] > 0)
