// The profile in the page.
//
// Elements: meta, symbols (JSON); tree-symbol, tree-step and, where call sites are told apart, tree-site (numbers, per context
// in order: callers first, everything below a context before the next); after-M and before-M (own numbers of metric M);
// slice-S-context and slice-S-M (the contexts of some threads, as distances, and their own numbers); code-P (JSON).

/** Contexts with their numbers, for the metric, threads and side asked for. */
class Model {
  static async load() {
    const model = new Model();
    const [meta, symbols] = await Promise.all([unpackJson('meta'), unpackJson('symbols')]);
    model.meta = meta;
    model.count = meta.contexts;
    model.names = symbols;
    model.compares = meta.before !== null;
    await model.readTree();
    model.columns = new Map();
    model.pieces = new Map();
    return model;
  }

  async readTree() {
    const n = this.count;
    const parts = ['tree-symbol', 'tree-step'].concat(this.meta.sites ? ['tree-site'] : []);
    const [symbol, step, site] = await Promise.all(parts.map(unpack));
    this.symbol = numbers(symbol, new Uint32Array(n));
    this.site = site ? numbers(site, new Uint32Array(n)) : null;
    const steps = numbers(step, new Uint32Array(Math.max(0, n - 1)));
    this.parent = new Uint32Array(n);
    this.depth = new Uint32Array(n);
    this.end = new Uint32Array(n);
    for (let i = 1; i < n; i += 1) {
      let caller = i - 1;
      for (let up = steps[i - 1]; up > 0; up -= 1) caller = this.parent[caller];
      this.parent[i] = caller;
      this.depth[i] = this.depth[caller] + 1;
    }
    for (let i = n - 1; i >= 0; i -= 1) {
      if (this.end[i] === 0) this.end[i] = i + 1;
      const caller = this.parent[i];
      if (this.end[i] > this.end[caller]) this.end[caller] = this.end[i];
    }
  }

  /** Index of a metric by name. */
  metric(name) {
    return this.meta.metrics.findIndex((m) => m.name === name);
  }

  /** A column that is computed once; those that were not used for long are given up. */
  async column(key, compute) {
    let column = this.columns.get(key);
    if (column) this.columns.delete(key);
    else column = compute();
    this.columns.set(key, column);
    const most = 24;
    for (const old of this.columns.keys()) {
      if (this.columns.size <= most) break;
      // Unpacked data cannot be had again.
      if (!old.startsWith('data')) this.columns.delete(old);
    }
    return column;
  }

  whole(side, metric) {
    return this.column(`data ${side} ${metric}`, async () => numbers(await unpack(`${side}-${metric}`), new Float64Array(this.count)));
  }

  slice(number, part) {
    return this.column(`data slice ${number} ${part}`, async () => {
      const bytes = await unpack(`slice-${number}-${part}`);
      const values = numbers(bytes, new Float64Array(countNumbers(bytes)));
      if (part === 'context') for (let i = 1; i < values.length; i += 1) values[i] += values[i - 1];
      return values;
    });
  }

  /** Own numbers per context: side is after or before, thread an index in meta.threads or -1 for all. */
  own(side, metric, thread) {
    if (thread < 0) return this.whole(side, metric);
    return this.column(`own ${side} ${metric} ${thread}`, async () => {
      const number = this.meta.threads[thread][side];
      if (number === null) return new Float64Array(this.count);
      if (number > 0) {
        const own = new Float64Array(this.count);
        const [contexts, values] = await Promise.all([this.slice(number, 'context'), this.slice(number, metric)]);
        contexts.forEach((context, i) => { own[context] += values[i]; });
        return own;
      }
      // What the other threads leave.
      const own = (await this.whole(side, metric)).slice();
      for (const other of this.meta.threads) {
        if (other[side] === null || other[side] === 0) continue;
        const [contexts, values] = await Promise.all([this.slice(other[side], 'context'), this.slice(other[side], metric)]);
        contexts.forEach((context, i) => { own[context] -= values[i]; });
      }
      return own;
    });
  }

  /** The same with all contexts below. */
  totals(side, metric, thread) {
    return this.column(`totals ${side} ${metric} ${thread}`, async () => {
      const totals = (await this.own(side, metric, thread)).slice();
      for (let i = this.count - 1; i > 0; i -= 1) totals[this.parent[i]] += totals[i];
      return totals;
    });
  }

  /**
   * Per context 1 where it is one of a method and something was counted in or below it, whatever the metric: all that the report
   * counts. The others are of other threads or of the other profile, or stand for contexts that were folded for want of room.
   */
  there(side, thread) {
    return this.column(`there ${side} ${thread}`, async () => {
      const counted = ['calls', 'exceptional_exits', 'bytecodes'].map((name) => this.totals(side, this.metric(name), thread));
      const columns = await Promise.all(counted);
      return Uint8Array.from(this.symbol, (symbol, i) => (this.isMethod(symbol) && columns.some((column) => column[i] > 0) ? 1 : 0));
    });
  }

  /** Callees in order of name. */
  children(context) {
    const found = [];
    for (let i = context + 1; i < this.end[context]; i = this.end[i]) found.push(i);
    return found;
  }

  className(symbol) { return this.names[symbol][0]; }

  /** Threads themselves and what was folded have names without a class. */
  isMethod(symbol) { return this.names[symbol][0] !== ''; }

  isNative(symbol) { return (this.names[symbol][3] & 1) !== 0; }

  /** Class.method without parameters. */
  shortName(symbol) {
    const [owner, method] = this.names[symbol];
    return owner === '' ? method : `${owner.slice(owner.lastIndexOf('.') + 1)}.${method}`;
  }

  /** As the command line names it. */
  fullName(symbol) {
    const [owner, method, descriptor, marks] = this.names[symbol];
    // Another is read like this one but for its result.
    const returns = (marks & 2) !== 0 ? `: ${result(descriptor)}` : '';
    return owner === '' ? method : `${owner}.${method}${parameters(descriptor)}${returns}${this.isNative(symbol) ? ' (native)' : ''}`;
  }

  /** Where a context was called from, as text. */
  siteText(context) {
    const site = this.site ? this.site[context] : 0;
    return site === 0 ? '' : ` from bytecode ${site - 1}`;
  }

  /** The annotated code of a method: a list, one per class of that name; empty when the page has none. */
  async code(symbol) {
    const piece = this.meta.code[symbol];
    if (piece === undefined) return [];
    if (!this.pieces.has(piece)) this.pieces.set(piece, unpackJson(`code-${piece}`));
    return (await this.pieces.get(piece))[symbol] || [];
  }

  /**
   * Per symbol: own and total of a column, calls of native methods apart. A recursive method's inner calls are in the outer
   * one's total already.
   */
  byMethod(own, totals) {
    const count = this.names.length;
    const rows = { own: new Float64Array(count), total: new Float64Array(count) };
    const active = new Uint32Array(count);
    const open = [];
    for (let i = 1; i < this.count; i += 1) {
      while (open.length > 0 && this.end[open[open.length - 1]] <= i) active[this.symbol[open.pop()]] -= 1;
      const symbol = this.symbol[i];
      rows.own[symbol] += own[i];
      if (active[symbol] === 0) rows.total[symbol] += totals[i];
      active[symbol] += 1;
      open.push(i);
    }
    return rows;
  }
}

/** What is shown now: columns of one metric and one choice of threads. */
class View {
  static async of(model, metricIndex, thread) {
    const view = new View();
    view.model = model;
    view.metricIndex = metricIndex;
    view.metric = model.meta.metrics[metricIndex];
    view.thread = thread;
    const calls = model.metric('calls');
    const exits = model.metric('exceptional_exits');
    const bytecodes = model.metric('bytecodes');
    [view.own, view.total, view.calls, view.exits, view.bytecodes, view.there] = await Promise.all([
      model.own('after', metricIndex, thread), model.totals('after', metricIndex, thread),
      model.own('after', calls, thread), model.own('after', exits, thread), model.own('after', bytecodes, thread),
      model.there('after', thread),
    ]);
    if (model.compares) {
      [view.ownBefore, view.totalBefore, view.callsBefore, view.thereBefore] = await Promise.all([
        model.own('before', metricIndex, thread), model.totals('before', metricIndex, thread), model.own('before', calls, thread),
        model.there('before', thread),
      ]);
    }
    view.whole = view.total[0];
    view.wholeBefore = view.totalBefore ? view.totalBefore[0] : 0;
    return view;
  }

  get compares() { return this.model.compares; }
}

