// The tree upside down: methods by their own cost, below each its callers. Made as far as someone looks.

/** A node: some contexts, each with the weight that it carries and the caller that it has come to. */
class CallerTree {
  /** `weights`: own numbers; `weightsBefore` the same of the profile compared with, or null. */
  constructor(model, weights, weightsBefore) {
    this.model = model;
    this.parent = [0];
    this.symbol = [0];
    this.depth = [0];
    this.value = [0];
    this.valueBefore = [0];
    this.callees = [null];
    const places = [];
    for (let i = 1; i < model.count; i += 1) if (weights[i] > 0 || (weightsBefore && weightsBefore[i] > 0)) places.push(i);
    const at = Uint32Array.from(places);
    const after = Float64Array.from(places, (i) => weights[i]);
    const before = weightsBefore ? Float64Array.from(places, (i) => weightsBefore[i]) : null;
    after.forEach((w, i) => { this.value[0] += w; if (before) this.valueBefore[0] += before[i]; });
    this.pending = [{ at, after, before }];
  }

  /** The callers of a node, in order of name. */
  children(node) {
    if (this.callees[node]) return this.callees[node];
    const { at, after, before } = this.pending[node];
    this.pending[node] = null;
    const { model } = this;
    const groups = new Map();
    for (let i = 0; i < at.length; i += 1) {
      // The root's nodes are the contexts themselves; those of others are their callers.
      const context = node === 0 ? at[i] : model.parent[at[i]];
      if (context === 0) continue;
      const symbol = model.symbol[context];
      let group = groups.get(symbol);
      if (!group) groups.set(symbol, group = new Map());
      let entry = group.get(context);
      if (!entry) group.set(context, entry = [0, 0]);
      entry[0] += after[i];
      if (before) entry[1] += before[i];
    }
    const order = [...groups.keys()].sort((a, b) => a - b);
    this.callees[node] = order.map((symbol) => this.add(node, symbol, groups.get(symbol), before !== null));
    return this.callees[node];
  }

  add(parent, symbol, group, compares) {
    const node = this.symbol.length;
    const pending = {
      at: Uint32Array.from(group.keys()),
      after: Float64Array.from(group.values(), (entry) => entry[0]),
      before: compares ? Float64Array.from(group.values(), (entry) => entry[1]) : null,
    };
    const sum = (column) => (column ? column.reduce((a, b) => a + b, 0) : 0);
    this.parent.push(parent);
    this.symbol.push(symbol);
    this.depth.push(this.depth[parent] + 1);
    this.value.push(sum(pending.after));
    this.valueBefore.push(sum(pending.before));
    this.callees.push(null);
    this.pending.push(pending);
    return node;
  }
}

