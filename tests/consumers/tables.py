"""tables.py FILE: reads a table of `cprof export`, csv or json, of contexts or of methods, and prints what the methods cost, own and
with callees: {"metrics": [name], "methods": [[class, method, descriptor, native, [own], [total]]]}.
"""

import csv
import gc
import json
import sys

# It makes millions of objects and no cycles.
gc.disable()


def of_csv(file):
    """Metrics; then per row its caller's row or None, whether there are callers at all, the method, own numbers, totals."""
    rows = csv.reader(file)
    head = next(rows)
    first = head.index("calls")
    keys = [head.index(key) for key in ["class", "method", "descriptor", "native"]]
    parent = head.index("parent") if "parent" in head else None
    metrics = head[first::2]
    assert head[first + 1 :: 2] == [metric + "_total" for metric in metrics], head

    def read():
        for i, row in enumerate(rows):
            assert len(row) == len(head), row
            numbers = list(map(int, row[first:]))
            method = tuple(row[key] for key in keys)
            if parent is not None:
                assert row[0] == str(i + 1), row
            yield int(row[parent]) - 1 if parent is not None else -1, method[:3] + (method[3] == "true",), numbers[::2], numbers[1::2]

    return metrics, parent is not None, read()


def of_json(file):
    table = json.load(file)
    methods = [(m["class"], m["method"], m["descriptor"], m["native"]) for m in table["methods"]]
    contexts = table.get("contexts")

    def read():
        if contexts is None:
            for method, row in zip(methods, table["methods"]):
                yield -1, method, row["own"], row["total"]
        for row in contexts or []:
            parent = row["parent"]
            yield -1 if parent is None else parent, methods[row["method"]], row["own"], row["total"]

    return [metric["name"] for metric in table["metrics"]], contexts is not None, read()


def add(to, numbers):
    for i, number in enumerate(numbers):
        to[i] += number


with open(sys.argv[1], newline="", encoding="utf-8") as file:
    metrics, are_contexts, rows = (of_csv if sys.argv[1].endswith(".csv") else of_json)(file)
    sums = {}
    # The calls that are open, outermost first: row, method, what is left of its total when its own part and its callees are gone.
    path = []
    active = {}

    def close():
        row, method, left = path.pop()
        active[method] -= 1
        assert not any(left), f"row {row}, {method}: its own part and its callees differ from its total by {left}"

    for i, (parent, method, own, total) in enumerate(rows):
        while path and path[-1][0] != parent:
            close()
        assert path or parent < 0, f"row {i}: its caller {parent} is not before it"
        own_sum, total_sum = sums.setdefault(method, ([0] * len(metrics), [0] * len(metrics)))
        add(own_sum, own)
        # Inner calls of a recursive method are in the outer one's already.
        if not active.get(method):
            add(total_sum, total)
        if are_contexts:
            if path:
                add(path[-1][2], [-number for number in total])
            path.append((i, method, [t - o for t, o in zip(total, own)]))
            active[method] = active.get(method, 0) + 1
    while path:
        close()
print(json.dumps({"metrics": metrics, "methods": [[*method, *numbers] for method, numbers in sums.items()]}))
