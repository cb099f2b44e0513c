// The tree of calling contexts: callees are made when their caller is opened.

/** Steps that names are indented by at most: deep contexts would leave no room for them. */
const MOST_STEPS = 36;

class Contexts {
  /** `show(symbol)` is called when a method is asked for. */
  constructor(show) {
    this.show = show;
    this.holder = byId('context-tree');
    this.header = element('div', 'head');
    this.header.setAttribute('role', 'presentation');
    this.holder.append(this.header);
    this.list = new List(this.holder, { role: 'treeitem', render: (i, row) => this.render(i, row), key: (e, i) => this.key(e, i) });
    this.list.header = this.header;
    this.holder.addEventListener('click', (event) => this.click(event));
    byId('collapse').addEventListener('click', () => { this.opened.clear(); this.fill(0); });
    this.opened = new Set();
    this.found = null;
  }

  setView(view) {
    this.view = view;
    const compares = view.compares;
    const wide = columnWidth(view.whole, 'with callees');
    const calls = columnWidth(view.calls.reduce((most, v) => Math.max(most, v), 0), 'calls');
    this.holder.style.setProperty('--numbers', `${wide} 4.4rem ${wide} ${calls}${compares ? ` ${wide} 5.4rem` : ''}`);
    const titles = ['with callees', 'share', view.metric.unit, 'calls'].concat(compares ? ['change', 'in %'] : []);
    this.header.replaceChildren(...titles.map((title) => element('span', 'number', title)), element('span', 'name', 'context'));
    this.fill(-1);
  }

  setFound(found) {
    this.found = found;
    this.list.redraw();
  }

  /** Callees that are there in this view, dearest first. */
  callees(context) {
    const { model, total, calls, totalBefore } = this.view;
    const there = (c) => total[c] > 0 || calls[c] > 0 || (totalBefore && totalBefore[c] > 0) || this.below(c);
    return model.children(context).filter(there).sort((a, b) => total[b] - total[a] || calls[b] - calls[a] || a - b);
  }

  /** Something was called below a context that cost nothing itself. */
  below(context) {
    const { model, calls } = this.view;
    for (let i = context; i < model.end[context]; i += 1) if (calls[i] > 0) return true;
    return false;
  }

  fill(current) {
    this.rows = this.visibleBelow(0);
    this.list.reset(this.rows.length, current);
  }

  open(index) {
    const context = this.rows[index];
    if (this.opened.has(context)) return;
    this.opened.add(context);
    // Not by splice: so many arguments have no room on the stack.
    this.rows = this.rows.slice(0, index + 1).concat(this.visibleBelow(context), this.rows.slice(index + 1));
    this.list.reset(this.rows.length, index);
  }

  /** What is shown below a context that is open. */
  visibleBelow(context) {
    const found = [];
    const open = [this.callees(context).reverse()];
    while (open.length > 0) {
      const next = open[open.length - 1].pop();
      if (next === undefined) {
        open.pop();
      } else {
        found.push(next);
        open.push(this.opened.has(next) ? this.callees(next).reverse() : []);
      }
    }
    return found;
  }

  close(index) {
    const context = this.rows[index];
    if (!this.opened.delete(context)) return;
    let end = index + 1;
    while (end < this.rows.length && this.rows[end] < this.view.model.end[context] && this.rows[end] > context) end += 1;
    this.rows.splice(index + 1, end - index - 1);
    this.list.reset(this.rows.length, index);
  }

  render(index, row) {
    const context = this.rows[index];
    const { model, total, own, calls, whole, compares, totalBefore } = this.view;
    const depth = model.depth[context];
    const leaf = model.end[context] === context + 1;
    row.setAttribute('aria-level', depth);
    if (!leaf) row.setAttribute('aria-expanded', String(this.opened.has(context)));
    const cells = [thousands(total[context]), share(total[context], whole), thousands(own[context]), thousands(calls[context])];
    if (compares) cells.push(signed(total[context] - totalBefore[context]), change(totalBefore[context], total[context]));
    cells.forEach((text, i) => {
      const cell = element('span', 'number', text);
      if (i === 0) cell.style.setProperty('--part', `${whole ? Math.min(100, total[context] * 100 / whole) : 0}%`);
      if (i > 3) cell.classList.add(total[context] > totalBefore[context] ? 'more' : total[context] < totalBefore[context] ? 'less' : 'same');
      row.append(cell);
    });
    const symbol = model.symbol[context];
    const name = nameCell(model, symbol);
    name.style.paddingInlineStart = `${Math.min(depth - 1, MOST_STEPS) * 9}px`;
    name.prepend(element('span', 'twist', leaf ? '' : this.opened.has(context) ? '▾' : '▸'));
    if (depth > MOST_STEPS + 1) name.prepend(element('span', 'package', `${depth} deep `));
    const site = model.siteText(context);
    if (site) name.append(element('span', 'package', site));
    if (this.found && this.found[symbol]) row.classList.add('match');
    row.append(name);
  }

  key(event, index) {
    const { model } = this.view;
    const context = this.rows[index];
    switch (event.key) {
      case 'ArrowRight':
        if (event.shiftKey) this.openDearest(index);
        else if (this.opened.has(context)) this.list.go(index + 1);
        else if (model.end[context] > context + 1) this.open(index);
        return true;
      case 'ArrowLeft':
        if (this.opened.has(context)) this.close(index);
        else if (model.parent[context] !== 0) this.list.go(this.rows.indexOf(model.parent[context]));
        return true;
      case 'Enter':
      case ' ':
        this.show(model.symbol[context]);
        return true;
      default:
        return false;
    }
  }

  /** Opens the dearest callee of the dearest callee, and so on, while it is most of its caller. */
  openDearest(index) {
    const { total } = this.view;
    let context = this.rows[index];
    for (let callees = this.callees(context); callees.length > 0; callees = this.callees(context)) {
      this.opened.add(context);
      if (total[callees[0]] * 2 < total[context]) break;
      context = callees[0];
    }
    this.fill(-1);
    this.list.go(this.rows.indexOf(context));
  }

  click(event) {
    const index = rowOf(event);
    if (index < 0) return;
    this.list.go(index);
    const context = this.rows[index];
    if (event.target.closest('bdi, .package')) this.show(this.view.model.symbol[context]);
    else if (this.opened.has(context)) this.close(index);
    else if (this.view.model.end[context] > context + 1) this.open(index);
  }
}

