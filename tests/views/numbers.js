// The numbers on the page are those of `cprof report`.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { test, report, assert } = require('./browser');
const { choose, totals, saved, text } = require('./steps');

/** What scripts of the page declare. They are a module, which nobody can look into; what is asked here needs no page. */
function scripts(...files) {
  const sources = files.map((file) => fs.readFileSync(path.join(__dirname, '../../views/assets', file), 'utf8'));
  const names = sources.flatMap((source) => [...source.matchAll(/^(?:async )?(?:function|class) (\w+)/gm)].map((found) => found[1]));
  return vm.runInThisContext(`(() => { ${sources.join('\n')}; return { ${names.join(', ')} }; })()`);
}

/** Every method's row is the report's. */
async function sameMethods(page, of, own, total) {
  const rows = await saved(page);
  const key = (r) => `${r.class}.${r.method}${r.descriptor}`;
  const wanted = new Map();
  // Of a Java and a native method of one name (redefined ones) the report has two rows, as the page has.
  of.methods.forEach((m) => wanted.set(key(m), (wanted.get(key(m)) || []).concat([m])));
  assert.equal(rows.length, of.methods.length);
  for (const row of rows) {
    const fits = (wanted.get(key(row)) || []).some((m) => m.calls === Number(row.calls) && m.exceptional_exits === Number(row.exits)
      && m[own] === Number(row[own === 'cycles' ? Object.keys(row)[3] : own]) && m[total] === Number(Object.values(row)[4]));
    assert.ok(fits, `${JSON.stringify(row)} is not ${JSON.stringify(wanted.get(key(row)))}`);
  }
}

test('totals and methods by bytecodes', 'threads.html', async (page) => {
  await choose(page, 'metric', 'bytecodes');
  const expected = report('threads.cprof', '--target', 'bytecodes', '--cache', 'ideal');
  const shown = await totals(page);
  assert.equal(shown.bytecodes, expected.totals.bytecodes);
  assert.equal(shown['calls of methods'], expected.totals.calls);
  assert.equal(shown['calls of native methods'], expected.totals.native_calls);
  assert.equal(shown['exceptional exits'], expected.totals.exceptional_exits);
  assert.equal(shown.methods, expected.totals.methods);
  assert.equal(shown.contexts, expected.totals.contexts);
  await sameMethods(page, expected, 'bytecodes', 'bytecodes_total');
});

for (const cache of ['4k/16', '1k/4']) {
  test(`cycles with ${cache}`, 'threads.html', async (page) => {
    const expected = report('threads.cprof', '--target', 'jop', '--cache', cache);
    await choose(page, 'metric', `cycles[jop,${cache}]`);
    assert.equal((await totals(page))[`cycles[jop,${cache}]`], expected.totals.cycles);
    await sameMethods(page, expected, 'cycles', 'cycles_total');
  });
}

test('the metric to begin with is the report\'s', 'threads.html', async (page) => {
  assert.equal((await totals(page))['cycles[jop,4k/16]'], report('threads.cprof').totals.cycles);
});

test('methods are the same by every metric', 'threads.html', async (page) => {
  const expected = report('threads.cprof');
  for (const metric of ['calls', 'exceptional_exits', 'bytecodes']) {
    await choose(page, 'metric', metric);
    const shown = await totals(page);
    assert.deepEqual([shown.methods, shown.contexts], [expected.totals.methods, expected.totals.contexts], metric);
    assert.equal((await saved(page)).length, expected.methods.length, metric);
  }
});

test('every thread', 'threads.html', async (page) => {
  const { threads } = report('threads.cprof', '--threads');
  await choose(page, 'metric', 'bytecodes');
  const labels = await page.$$eval('#thread option', (all) => all.length - 1);
  assert.equal(labels, threads.length);
  for (const thread of threads) {
    await choose(page, 'thread', thread.thread);
    const shown = await totals(page);
    const counted = [shown.bytecodes, shown['calls of methods'], shown['exceptional exits'], shown.contexts];
    assert.deepEqual(counted, [thread.bytecodes, thread.calls, thread.exceptional_exits, thread.contexts], thread.thread);
  }
});

test('a comparison has both profiles\' numbers', 'diff.html', async (page) => {
  const [after, before] = [report('threads.cprof'), report('hostile.cprof')];
  const note = await text(page, '#totals div:first-child');
  assert.ok(note.includes(after.totals.cycles.toLocaleString('en-US')), note);
  assert.ok(note.includes(before.totals.cycles.toLocaleString('en-US')), note);
  const rows = await saved(page);
  const sum = (name) => rows.reduce((s, r) => s + Number(r[name]), 0);
  assert.equal(sum('before'), before.totals.cycles);
  assert.equal(sum('change'), after.totals.cycles - before.totals.cycles);
  const names = (of) => of.methods.map((m) => `${m.class}.${m.method}${m.descriptor}${m.native}`);
  assert.equal(rows.length, new Set(names(after).concat(names(before))).size);
});

test('what was folded is no method and no context', 'threads.html', async () => {
  const { Model, matching, matchShare } = scripts('model.js', 'search.js');
  const model = Object.create(Model.prototype, { column: { value: (key, compute) => compute() } });
  model.names = [['', 'all', ''], ['', '(contexts folded for want of room)', ''], ['A', 'run', '()V'], ['A', 'gone', '()V']];
  model.meta = { metrics: [{ name: 'calls' }, { name: 'exceptional_exits' }, { name: 'bytecodes' }] };
  Object.assign(model, { symbol: [0, 1, 2, 3], parent: [0, 0, 1, 0], end: [4, 3, 3, 4], count: 4 });
  model.fullName = (symbol) => model.names[symbol].slice(0, 2).join('.');
  // Of the method that was folded nothing but bytecodes: it was running when counting began.
  const columns = [[0, 0, 0, 0], [0, 0, 0, 0], [5, 5, 5, 0]];
  model.totals = async (side, metric) => columns[metric];
  const there = await model.there('after', -1);
  assert.deepEqual([...there], [0, 0, 1, 0]);
  const total = columns[1];
  assert.equal(matchShare({ model, total, there }, matching(model, 'folded')).methods, 0);
  assert.deepEqual(matchShare({ model, total, there }, matching(model, 'r*')), { methods: 1, contexts: 1, cost: 0, gone: 0 });
  const before = { compares: true, thereBefore: [0, 0, 1, 1] };
  assert.equal(matchShare({ model, total, there: there.map(() => 0), ...before }, matching(model, 'r*')).gone, 1);
});

test('shares and changes are those of the command line', 'threads.html', async () => {
  const { share, change } = scripts('format.js');
  // Rust rounds what is exactly between two to the even one.
  assert.deepEqual([[1, 400], [3, 400], [49, 400], [51, 400], [1, 3], [1, 0]].map(([part, whole]) => share(part, whole)),
    ['0.2%', '0.8%', '12.2%', '12.8%', '33.3%', '-']);
  assert.deepEqual([[800, 801], [800, 803], [200, 100], [3, 3], [0, 1], [1, 0]].map(([before, after]) => change(before, after)),
    ['+0.12%', '+0.38%', '−50.00%', '0%', 'from 0', '−100.00%']);
  assert.deepEqual([change(1e6, 1e6 + 1), change(1e6, 1e6 - 1), change(1e8, 117)], ['< +0.01%', '> −0.01%', '> −100%']);
});

test('callees that call each other are not counted twice', 'threads.html', async () => {
  const { Method } = scripts('method.js');
  // Methods 1 and 2 call each other, and each turn costs 1; the first calls method 3 as well, which calls 2 again.
  const depth = 100;
  const symbol = [0];
  const parent = [0];
  for (let i = 1; i <= depth; i += 1) {
    symbol.push(i % 2 === 1 ? 1 : 2);
    parent.push(i - 1);
  }
  symbol.push(3, 2);
  parent.push(1, depth + 1);
  const count = symbol.length;
  const end = symbol.map((_, i) => i + 1);
  const total = symbol.map(() => 1);
  for (let i = count - 1; i > 0; i -= 1) {
    end[parent[i]] = Math.max(end[parent[i]], end[i]);
    total[parent[i]] += total[i];
  }
  const ones = symbol.map(() => 1);
  const view = { model: { symbol, parent, end, count }, own: ones, total, calls: ones, exits: ones };
  const around = (of) => {
    const { callers, callees, total: whole } = Method.prototype.around.call({ view }, of);
    return { whole, callers: [...callers], callees: [...callees] };
  };
  assert.deepEqual(around(1), { whole: 102, callers: [[0, 102]], callees: [[2, 99], [3, 2]] });
  assert.deepEqual(around(2), { whole: 100, callers: [[1, 99], [3, 1]], callees: [[1, 98]] });
});

test('no column is saved twice', 'threads.html', async (page) => {
  await choose(page, 'metric', 'calls');
  const [row] = await saved(page);
  assert.deepEqual(Object.keys(row).sort(), ['calls', 'calls_total', 'class', 'descriptor', 'exits', 'method']);
});
