// Wiring: the choices above, the views below.

const VIEWS = ['flame', 'methods', 'contexts', 'run'];

class Page {
  constructor(model) {
    this.model = model;
    this.method = new Method();
    const show = (symbol) => this.method.show(symbol);
    this.views = { flame: new Flame(show), methods: new Methods(show), contexts: new Contexts(show) };
    this.metric = Math.max(0, model.metric(model.meta.metric));
    this.thread = -1;
    this.tab = 'flame';
    this.stale = new Set();
    this.heading();
    this.choices();
    this.tabs();
    this.run();
  }

  heading() {
    const { meta } = this.model;
    document.title = `${meta.title} · cprof`;
    byId('title').textContent = meta.title;
    byId('subtitle').textContent = meta.before === null ? meta.file : `${meta.file} compared with ${meta.before}`;
  }

  choices() {
    const { meta } = this.model;
    const option = (select, value, text) => {
      const made = element('option', '', text);
      made.value = value;
      select.append(made);
    };
    const metric = byId('metric');
    meta.metrics.forEach((m, i) => option(metric, i, m.name.replace(/^[^[]*/, (kind) => kind.replaceAll('_', ' '))));
    metric.value = this.metric;
    metric.addEventListener('change', () => { this.metric = Number(metric.value); this.update().catch(failed); });
    const thread = byId('thread');
    option(thread, -1, 'all');
    meta.threads.forEach((t, i) => option(thread, i, t.threads > 1 ? `${t.label} (${thousands(t.threads)})` : t.label));
    thread.addEventListener('change', () => { this.thread = Number(thread.value); this.update().catch(failed); });
    const search = byId('search');
    let waiting = 0;
    search.addEventListener('input', () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.search(), 150);
    });
    search.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') { search.value = ''; this.search(); }
      if (event.key === 'Enter') { clearTimeout(waiting); this.search(); }
    });
    document.addEventListener('keydown', (event) => {
      if (event.key === '/' && !event.ctrlKey && !event.altKey && !event.metaKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
        event.preventDefault();
        search.focus();
        search.select();
      }
    });
    byId('theme').addEventListener('click', () => {
      document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
      this.recolour();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolour());
  }

  recolour() {
    this.views.flame.legend();
    this.views.flame.draw();
    this.views.methods.list.redraw();
    this.views.contexts.list.redraw();
    this.method.setView(this.view);
  }

  tabs() {
    for (const name of VIEWS) {
      const tab = byId(`tab-${name}`);
      tab.addEventListener('click', () => this.select(name));
      tab.addEventListener('keydown', (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const next = VIEWS[(VIEWS.indexOf(name) + step + VIEWS.length) % VIEWS.length];
        this.select(next);
        byId(`tab-${next}`).focus();
      });
    }
    this.select('flame');
  }

  select(name) {
    this.tab = name;
    for (const other of VIEWS) {
      byId(other).hidden = other !== name;
      const tab = byId(`tab-${other}`);
      tab.setAttribute('aria-selected', String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
    }
    this.refresh();
  }

  /** Other numbers: what is visible now, the other views when they are looked at. */
  async update() {
    document.body.setAttribute('aria-busy', 'true');
    const asked = [this.metric, this.thread];
    const view = await View.of(this.model, ...asked);
    // Something else was chosen meanwhile.
    if (asked[0] !== this.metric || asked[1] !== this.thread) return;
    this.view = view;
    Object.keys(this.views).forEach((name) => this.stale.add(name));
    this.totals();
    this.matches();
    this.method.setView(view);
    this.refresh();
    document.body.removeAttribute('aria-busy');
  }

  refresh() {
    if (!this.view || !this.stale.delete(this.tab)) return;
    this.views[this.tab].setView(this.view);
  }

  totals() {
    const { model, view } = this;
    const list = byId('totals');
    const sums = { calls: 0, natives: 0, exits: 0, bytecodes: 0, contexts: 0 };
    const seen = new Uint8Array(model.names.length);
    for (let i = 1; i < model.count; i += 1) {
      const symbol = model.symbol[i];
      if (model.isNative(symbol)) {
        sums.natives += view.calls[i];
        continue;
      }
      sums.calls += view.calls[i];
      sums.exits += view.exits[i];
      sums.bytecodes += view.bytecodes[i];
      if (view.there[i] === 1) {
        sums.contexts += 1;
        seen[symbol] = 1;
      }
    }
    const made = [];
    const total = (name, value, note) => {
      const box = element('div');
      box.append(element('dt', '', name), element('dd', '', thousands(value)));
      box.lastChild.dataset.total = name;
      if (note) box.append(element('dd', 'dim', note));
      made.push(box);
    };
    const compared = view.compares ? `before ${thousands(view.wholeBefore)}, ${change(view.wholeBefore, view.whole)}` : '';
    total(view.metric.name, view.whole, compared);
    if (view.metric.name !== 'bytecodes') total('bytecodes', sums.bytecodes);
    total('calls of methods', sums.calls);
    total('calls of native methods', sums.natives);
    total('exceptional exits', sums.exits);
    total('methods', seen.reduce((a, b) => a + b, 0));
    total('contexts', sums.contexts);
    if (view.compares) this.newAndGone(total);
    list.replaceChildren(...made);
    const safe = [view.whole, view.wholeBefore, ...Object.values(sums)].every(Number.isSafeInteger);
    byId('problem').hidden = safe;
    byId('problem').textContent = safe ? '' : 'Numbers above 9,007,199,254,740,991 are rounded on this page; cprof report has them exactly.';
  }

  /** What contexts cost that only one of two profiles has. */
  newAndGone(total) {
    const { model, view } = this;
    let born = 0;
    let gone = 0;
    for (let i = 1; i < model.count; i += 1) {
      if (view.thereBefore[i] === 0) born += view.own[i];
      if (view.there[i] === 0) gone += view.ownBefore[i];
    }
    total('in new contexts', born, view.metric.unit);
    total('in contexts now gone', gone, view.metric.unit);
  }

  search() {
    this.found = matching(this.model, byId('search').value);
    Object.values(this.views).forEach((view) => view.setFound(this.found));
    this.matches();
  }

  matches() {
    const status = byId('matches');
    status.hidden = !this.found;
    if (!this.found) {
      status.textContent = '';
      return;
    }
    const { methods, contexts, cost, gone } = matchShare(this.view, this.found);
    const none = gone > 0 ? `${counted(gone, 'matching method')} now gone.` : 'No method matches.';
    status.textContent = methods === 0 ? none
      : `${share(cost, this.view.whole)} of ${this.view.metric.name} in or below ${counted(methods, 'matching method')} (${thousands(cost)}, ${counted(contexts, 'context')})`;
  }

  run() {
    const { meta } = this.model;
    const panel = byId('run');
    const facts = element('dl', 'facts');
    for (const [name, value] of meta.run) facts.append(element('dt', '', name), element('dd', 'wide', value));
    panel.append(facts);
    const list = (title, items) => {
      if (items.length === 0) return;
      const ul = element('ul');
      ul.append(...items.map((text) => element('li', '', text)));
      panel.append(element('h3', '', title), ul);
    };
    list('To be known', meta.notes);
    // What is told several times in the same words, as of hidden classes of one name, is one line.
    const times = new Map();
    for (const [what, reason] of meta.gaps) times.set(`${what}: ${reason}`, (times.get(`${what}: ${reason}`) ?? 0) + 1);
    const lines = [...times].map(([text, often]) => (often > 1 ? `${text} (${thousands(often)} times)` : text));
    list(`Not covered: ${thousands(meta.gaps.length)}`, lines);
    panel.append(element('p', 'dim', `Made by cprof ${meta.version}. All numbers are exact counts, or computed from them.`));
  }
}

/** Says that what was asked for cannot be shown. */
function failed(error) {
  const problem = byId('problem');
  problem.hidden = false;
  problem.textContent = `This page cannot be shown: ${error.message}`;
  document.body.removeAttribute('aria-busy');
  throw error;
}

async function main() {
  try {
    if (typeof DecompressionStream === 'undefined') {
      throw new Error('this browser is too old: it has no DecompressionStream (Chrome 80, Firefox 113, Safari 16.4 have)');
    }
    const page = new Page(await Model.load());
    await page.update();
    document.body.dataset.ready = 'yes';
    performance.mark('cprof-ready');
  } catch (error) {
    failed(error);
  }
}

main();
