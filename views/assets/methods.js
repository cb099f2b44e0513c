// The table of methods.

class Methods {
  /** `show(symbol)` is called when a method is asked for. */
  constructor(show) {
    this.show = show;
    this.holder = byId('method-table');
    this.header = element('div', 'head');
    this.header.setAttribute('role', 'row');
    this.holder.append(this.header);
    this.list = new List(this.holder, { role: 'row', render: (i, row) => this.render(i, row), key: (e, i) => this.key(e, i) });
    this.list.header = this.header;
    this.holder.addEventListener('click', (event) => this.click(event));
    byId('save').addEventListener('click', () => this.save());
    this.order = { column: 'own', down: true };
    this.found = null;
  }

  setView(view) {
    this.view = view;
    const { model } = view;
    const sums = (column) => {
      const sum = new Float64Array(model.names.length);
      for (let i = 1; i < model.count; i += 1) sum[model.symbol[i]] += column[i];
      return sum;
    };
    const { own, total } = model.byMethod(view.own, view.total);
    this.numbers = { own, total, calls: sums(view.calls), exits: sums(view.exits) };
    if (view.compares) {
      const before = model.byMethod(view.ownBefore, view.totalBefore);
      this.numbers.before = before.own;
      this.numbers.change = own.map((v, i) => v - before.own[i]);
      this.numbers.callsBefore = sums(view.callsBefore);
    }
    this.there = new Uint8Array(model.names.length);
    for (let i = 1; i < model.count; i += 1) {
      if (view.there[i] === 1 || (view.compares && view.thereBefore[i] === 1)) this.there[model.symbol[i]] = 1;
    }
    this.heads();
    this.fill();
  }

  setFound(found) {
    this.found = found;
    if (this.view) this.fill();
  }

  /** Key, title, whether it is a number, how to say it. */
  columns() {
    const unit = this.view.metric.unit;
    const { whole, compares } = this.view;
    const plain = (key) => (s) => thousands(this.numbers[key][s]);
    const columns = [
      ['own', unit, plain('own')],
      ['ownShare', 'share', (s) => share(this.numbers.own[s], whole), 'own'],
      ['total', 'with callees', plain('total')],
      ['totalShare', 'share', (s) => share(this.numbers.total[s], whole), 'total'],
      ['calls', 'calls', plain('calls')],
      ['exits', 'exits', plain('exits')],
    ];
    if (compares) {
      columns.splice(2, 0, ['before', 'before', plain('before')], ['change', 'change', (s) => signed(this.numbers.change[s])],
        ['percent', 'in %', (s) => change(this.numbers.before[s], this.numbers.own[s]), 'change']);
    }
    return columns;
  }

  heads() {
    const columns = this.columns();
    // As wide as the longest number, so that names get the rest.
    const longest = (key) => this.numbers[key].reduce((most, v) => Math.max(most, Math.abs(v)), 0);
    const width = ([key, title]) => (/hare|percent/.test(key) ? '4.4rem' : columnWidth(longest(key), title));
    this.holder.style.setProperty('--numbers', columns.map(width).join(' '));
    const heads = columns.concat([['name', 'method']]).map(([key, title, , same]) => {
      const head = element('button', key === 'name' ? 'name' : 'number', title);
      head.type = 'button';
      head.setAttribute('role', 'columnheader');
      head.dataset.sort = same || key;
      const sorted = this.order.column === head.dataset.sort && !same;
      head.setAttribute('aria-sort', sorted ? (this.order.down ? 'descending' : 'ascending') : 'none');
      return head;
    });
    this.header.replaceChildren(...heads);
  }

  fill() {
    const { model } = this.view;
    const symbols = [];
    for (let s = 1; s < model.names.length; s += 1) {
      if (this.there[s] === 1 && (!this.found || this.found[s])) symbols.push(s);
    }
    this.all = symbols;
    this.sort();
    byId('methods-count').textContent = `${this.found ? 'matching the search: ' : ''}${counted(symbols.length, 'method')}`;
    this.holder.setAttribute('aria-rowcount', symbols.length + 1);
  }

  sort() {
    const { column, down } = this.order;
    const sign = down ? -1 : 1;
    const { own, total } = this.numbers;
    const values = this.numbers[column];
    // Symbols are numbered in order of name.
    const ties = (a, b) => own[b] - own[a] || total[b] - total[a] || a - b;
    const size = column === 'change' ? (s) => Math.abs(values[s]) : (s) => values[s];
    this.rows = column === 'name' ? this.all.slice().sort((a, b) => sign * (a - b)) : this.all.slice().sort((a, b) => sign * (size(a) - size(b)) || ties(a, b));
    this.list.reset(this.rows.length);
  }

  render(index, row) {
    const symbol = this.rows[index];
    const { model } = this.view;
    row.setAttribute('aria-rowindex', index + 2);
    for (const [key, , text] of this.columns()) {
      const cell = element('span', 'number', text(symbol));
      if (key === 'own' || key === 'total') cell.style.setProperty('--part', `${this.view.whole ? Math.min(100, this.numbers[key][symbol] * 100 / this.view.whole) : 0}%`);
      if (/^(change|percent)$/.test(key)) cell.classList.add(this.numbers.change[symbol] > 0 ? 'more' : this.numbers.change[symbol] < 0 ? 'less' : 'same');
      cell.setAttribute('role', 'gridcell');
      row.append(cell);
    }
    row.append(nameCell(model, symbol, 'gridcell'));
  }

  key(event, index) {
    if (event.key !== 'Enter' && event.key !== ' ') return false;
    this.show(this.rows[index]);
    return true;
  }

  click(event) {
    const head = event.target.closest('[data-sort]');
    if (head) {
      const column = head.dataset.sort;
      this.order = { column, down: this.order.column === column ? !this.order.down : column !== 'name' };
      this.heads();
      this.sort();
      this.header.querySelector(`[data-sort="${column}"]`).focus();
      return;
    }
    const index = rowOf(event);
    if (index < 0) return;
    this.list.go(index);
    this.show(this.rows[index]);
  }

  /** The rows as they are, for a spreadsheet: RFC 4180. */
  save() {
    const { model, metric } = this.view;
    // Names as they are: they are looked up in what cprof report writes, which has them so.
    const field = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const named = { own: metric.name, total: `${metric.name}_total`, callsBefore: 'calls_before' };
    const head = (key) => named[key] || key;
    // Calls may be the metric.
    const keys = Object.keys(this.numbers).filter((key) => key === 'own' || head(key) !== metric.name);
    const heads = keys.map(head);
    const lines = [['class', 'method', 'descriptor', ...heads].map(field).join(',')];
    for (const s of this.rows) lines.push([...model.names[s].slice(0, 3).map(field), ...keys.map((key) => this.numbers[key][s])].join(','));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([`${lines.join('\r\n')}\r\n`], { type: 'text/csv' }));
    link.download = 'methods.csv';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

/** Room for a number and for the column's title with its arrow. */
function columnWidth(most, title) {
  return `calc(${Math.max(thousands(most).length + 1, title.length + 2)}ch + 20px)`;
}

/** A method's name with its package's colour; the package is dimmed. */
function nameCell(model, symbol, role) {
  const cell = element('span', 'name');
  if (role) cell.setAttribute('role', role);
  const owner = model.className(symbol);
  const packageName = packageOf(owner);
  const dot = element('i', 'dot');
  dot.style.background = packageColour(packageName, isDark());
  const full = model.fullName(symbol);
  cell.append(dot);
  if (packageName) cell.append(element('span', 'package', `${packageName}.`));
  cell.append(element('bdi', '', packageName ? full.slice(packageName.length + 1) : full));
  cell.title = full.length > 500 ? `${full.slice(0, 500)}…` : full;
  return cell;
}

