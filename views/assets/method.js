// What is known about one method: its numbers, callers, callees, code.

const MOST_NEIGHBOURS = 8;

class Method {
  constructor() {
    this.aside = byId('method');
    this.body = byId('method-body');
    this.symbol = 0;
    this.opener = null;
    byId('method-name').tabIndex = -1;
    byId('close').addEventListener('click', () => this.hide());
    this.aside.addEventListener('keydown', (event) => { if (event.key === 'Escape') this.hide(); });
  }

  setView(view) {
    this.view = view;
    if (!this.aside.hidden) this.fill(this.symbol).catch(failed);
  }

  /** Who went in by keyboard is where they came from again. */
  hide() {
    if (this.aside.contains(document.activeElement) && this.opener) this.opener.focus();
    this.aside.hidden = true;
    document.body.classList.remove('with-method');
  }

  show(symbol) {
    // What had the focus in here goes.
    const within = this.aside.contains(document.activeElement);
    if (!within) this.opener = document.activeElement;
    this.fill(symbol).catch(failed);
    if (within) byId('method-name').focus();
  }

  async fill(symbol) {
    this.symbol = symbol;
    const { view } = this;
    const { model } = view;
    byId('method-name').replaceChildren(nameCell(model, symbol));
    this.aside.hidden = false;
    document.body.classList.add('with-method');
    const { own, total, calls, exits, callers, callees } = this.around(symbol);
    const numbers = element('dl', 'facts');
    const fact = (name, value, note) => {
      numbers.append(element('dt', '', name), element('dd', '', value), element('dd', 'dim', note || ''));
    };
    fact(view.metric.name, thousands(own), share(own, view.whole));
    fact('with callees', thousands(total), share(total, view.whole));
    fact('calls', thousands(calls), calls > 0 ? `${(own / calls).toLocaleString('en-US', { maximumFractionDigits: 1 })} ${view.metric.unit} each` : '');
    fact('exceptional exits', thousands(exits));
    this.body.replaceChildren(numbers, this.neighbours('Callers', callers, total), this.neighbours('Callees', callees, total));
    const holder = element('div', 'code');
    this.body.append(holder);
    const codes = await model.code(symbol);
    if (this.symbol !== symbol || this.view !== view) return;
    if (codes.length === 0) {
      holder.append(element('p', 'dim', model.isNative(symbol) ? 'A native method has no bytecode.' : 'The code of this method is not on the page.'));
    }
    codes.forEach((code) => holder.append(...annotated(code, view)));
  }

  /** Sums over the contexts of a method, and its callers and callees by cost. */
  around(symbol) {
    const { model, own, total, calls, exits } = this.view;
    const result = { own: 0, total: 0, calls: 0, exits: 0 };
    const callers = new Map();
    const callees = new Map();
    const add = (map, key, cost) => map.set(key, (map.get(key) || 0) + cost);
    let coveredUntil = 0;
    // By callee: where the last that was added ends. Those within it are in its cost.
    const added = new Map();
    for (let i = 1; i < model.count; i += 1) {
      const callee = model.symbol[i];
      if (callee === symbol) {
        result.own += own[i];
        result.calls += calls[i];
        result.exits += exits[i];
        if (i < coveredUntil) continue;
        result.total += total[i];
        coveredUntil = model.end[i];
        add(callers, model.symbol[model.parent[i]], total[i]);
      } else if (model.symbol[model.parent[i]] === symbol && i >= (added.get(callee) || 0)) {
        add(callees, callee, total[i]);
        added.set(callee, model.end[i]);
      }
    }
    return { ...result, callers, callees };
  }

  neighbours(title, map, whole) {
    const section = element('section');
    section.append(element('h3', '', title));
    const sorted = [...map].filter(([, cost]) => cost > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    if (sorted.length === 0) section.append(element('p', 'dim', 'none that cost anything'));
    for (const [symbol, cost] of sorted.slice(0, MOST_NEIGHBOURS)) {
      const row = element('button', 'neighbour');
      row.type = 'button';
      row.append(element('span', 'number', thousands(cost)), element('span', 'number dim', share(cost, whole)));
      if (symbol === 0) row.append(element('span', 'name', 'the thread itself'));
      else row.append(nameCell(this.view.model, symbol));
      row.disabled = symbol === 0;
      row.addEventListener('click', () => this.show(symbol));
      section.append(row);
    }
    if (sorted.length > MOST_NEIGHBOURS) {
      const rest = sorted.slice(MOST_NEIGHBOURS).reduce((sum, [, cost]) => sum + cost, 0);
      section.append(element('p', 'dim', `${thousands(sorted.length - MOST_NEIGHBOURS)} more: ${thousands(rest)} (${share(rest, whole)})`));
    }
    return section;
  }
}

/** Elements for a method's code: source lines where they are known, and bytecodes. */
function annotated(code, view) {
  const cycles = code.cycles.indexOf(view.metric.name);
  const cost = ([, , , , executions, costs]) => (cycles >= 0 ? costs[cycles] : executions);
  // Some cycles are of no single bytecode.
  const whole = cycles >= 0 ? code.whole[cycles] : code.rows.reduce((sum, row) => sum + cost(row), 0);
  const unit = cycles >= 0 ? view.metric.unit : 'bytecodes';
  const made = [];
  const table = (title, heads, rows) => {
    const section = element('section');
    section.append(element('h3', '', title));
    const grid = element('table', 'listing');
    const head = element('tr');
    head.append(...heads.map(([text, kind]) => Object.assign(element('th', kind, text), { scope: 'col' })));
    grid.append(head, ...rows);
    const scroller = element('div', 'scroller');
    scroller.tabIndex = 0;
    scroller.setAttribute('aria-label', title);
    scroller.append(grid);
    section.append(scroller);
    made.push(section);
  };
  const row = (cells, part, begins) => {
    const tr = element('tr', begins ? 'begins' : '');
    tr.append(...cells.map(([text, kind]) => element('td', kind, text)));
    tr.style.setProperty('--heat', `${whole ? Math.round(part * 1000 / whole) / 10 : 0}%`);
    return tr;
  };
  if (code.source) {
    const lines = new Map();
    for (const r of code.rows) {
      const line = lines.get(r[1]) || { executions: 0, cost: 0 };
      line.executions = Math.max(line.executions, r[4]);
      line.cost += cost(r);
      lines.set(r[1], line);
    }
    table(`Source: ${code.source.name}`, [['line', 'number'], ['executions', 'number'], [unit, 'number'], ['share', 'number'], ['', 'words']],
      code.source.lines.map((text, i) => {
        const number = code.source.first + i;
        const line = lines.get(number);
        const cells = line ? [thousands(line.executions), thousands(line.cost), share(line.cost, whole)] : ['', '', ''];
        return row([[String(number), 'number dim'], ...cells.map((c) => [c, 'number']), [text, 'words']], line ? line.cost : 0, false);
      }));
  }
  const heads = [['line', 'number'], ['executions', 'number'], ...(cycles >= 0 ? [[unit, 'number']] : []), ['share', 'number'], ['bci', 'number'], ['bytecode', 'words'], ['outcomes', 'words']];
  const [at, of] = code.variant;
  const variant = of > 1 ? ` (${at} of ${of} with this name and different code)` : '';
  table(`Bytecode, all threads of this page${variant}`, heads, code.rows.map((r, i) => {
    const [bci, line, text, begins, executions, , outcomes] = r;
    const same = i > 0 && code.rows[i - 1][1] === line;
    return row([
      [line && !same ? String(line) : '', 'number dim'], [thousands(executions), 'number'],
      ...(cycles >= 0 ? [[thousands(cost(r)), 'number']] : []),
      [share(cost(r), whole), 'number dim'], [String(bci), 'number dim'], [text, 'words'],
      [outcomes.map(([way, count]) => `${way}: ${thousands(count)}`).join(' · '), 'words dim'],
    ], cost(r), begins === 1 && i > 0);
  }));
  code.notes.filter((note) => note.startsWith(`${view.metric.name}:`)).forEach((note) => made.push(element('p', 'dim', note)));
  return made;
}

