// Where the frames of a flame graph are.

/** Frames narrower than this many pixels are drawn together with their narrow neighbours. */
const NARROW = 1;

/** Top-down: contexts as they are. */
class Downwards {
  levels = Infinity;

  constructor(view, side) {
    this.model = view.model;
    this.after = view.total;
    this.before = view.totalBefore;
    this.values = side === 'before' ? view.totalBefore : view.total;
  }

  value(node) { return this.values[node]; }

  symbol(node) { return this.model.symbol[node]; }

  parent(node) { return this.model.parent[node]; }

  depth(node) { return this.model.depth[node]; }

  children(node) { return this.model.children(node); }

  pair(node) { return [this.before ? this.before[node] : 0, this.after[node]]; }
}

/** Upside down: methods and their callers. */
class Upwards {
  /** Every level costs a look at all contexts that reach it: of deep recursion no more are made at a time. */
  levels = 200;

  constructor(view, side) {
    this.tree = new CallerTree(view.model, view.own, view.ownBefore || null);
    this.values = side === 'before' ? this.tree.valueBefore : this.tree.value;
  }

  value(node) { return this.values[node]; }

  symbol(node) { return this.tree.symbol[node]; }

  parent(node) { return this.tree.parent[node]; }

  depth(node) { return this.tree.depth[node]; }

  children(node) { return this.tree.children(node); }

  pair(node) { return [this.tree.valueBefore[node], this.tree.value[node]]; }
}

/**
 * Frames of the part below a node, in rows by depth: {node, x, width}, x and width in pixels; node -1 is for narrow neighbours
 * drawn together. Says what they are: number of frames, cost; and whether there are more than `graph.levels` rows below the node.
 */
function layout(graph, zoomed, width) {
  const rows = [];
  const narrow = { frames: 0, cost: 0 };
  let further = false;
  const put = (depth, frame) => {
    while (rows.length <= depth) rows.push([]);
    rows[depth].push(frame);
  };
  const above = [];
  for (let node = zoomed; node !== 0;) {
    node = graph.parent(node);
    above.push(node);
  }
  above.forEach((node) => put(graph.depth(node), { node, x: 0, width, above: true }));
  const scale = width / (graph.value(zoomed) || 1);
  const open = [{ node: zoomed, x: 0, depth: graph.depth(zoomed) }];
  if (graph.value(zoomed) === 0 && zoomed !== 0) return { rows, narrow, further };
  // Below the root are the methods themselves.
  const last = Math.max(graph.depth(zoomed), 1) + graph.levels;
  while (open.length > 0) {
    const { node, x, depth } = open.pop();
    put(depth, { node, x, width: graph.value(node) * scale });
    if (depth === last) {
      further = further || graph.children(node).some((child) => graph.value(child) > 0);
      continue;
    }
    let at = x;
    let run = null;
    for (const child of graph.children(node)) {
      const value = graph.value(child);
      if (value === 0) continue;
      const wide = value * scale;
      if (wide >= NARROW) {
        open.push({ node: child, x: at, depth: depth + 1 });
        run = null;
      } else {
        narrow.frames += 1;
        narrow.cost += value;
        if (!run) put(depth + 1, run = { node: -1, x: at, width: 0, frames: 0, cost: 0 });
        run.width += wide;
        run.frames += 1;
        run.cost += value;
      }
      at += wide;
    }
  }
  rows.forEach((row) => row.sort((a, b) => a.x - b.x));
  return { rows, narrow, further };
}

