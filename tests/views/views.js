// What one can do with the page.
'use strict';

const { test, assert } = require('./browser');
const { choose, search, settled, text, clickOn } = require('./steps');

/** Clicks into the graph: row counted from the top, x as a part of the width. */
async function clickFrame(page, row, x) {
  const box = await (await page.$('#graph')).boundingBox();
  await page.mouse.click(box.x + box.width * x, box.y + row * 19 + 9);
}

test('a click zooms in and shows the method', 'threads.html', async (page) => {
  assert.equal(await page.$eval('#zoom-out', (e) => e.disabled), true);
  await clickFrame(page, 2, 0.2);
  assert.equal(await page.$eval('#zoom-out', (e) => e.disabled), false);
  const name = await text(page, '#detail strong');
  assert.equal(await text(page, '#method-name'), name);
  assert.match(await text(page, '#method-body'), /Callers.*Callees/s);
  await page.click('#zoom-out');
  assert.equal(await page.$eval('#zoom-out', (e) => e.disabled), true);
  await page.click('#close');
  assert.equal(await page.$eval('#method', (e) => e.hidden), true);
});

test('callers: the widest method below the root is the dearest', 'threads.html', async (page) => {
  await page.click('#direction-callers');
  await page.focus('#graph');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  const widest = await text(page, '#detail strong');
  await page.click('#tab-methods');
  const first = await text(page, '#method-table .row .name');
  assert.equal(first, widest);
});

test('the graph by keys alone', 'threads.html', async (page) => {
  await page.focus('#graph');
  await page.keyboard.press('ArrowDown');
  assert.equal(await text(page, '#detail strong'), 'all threads');
  await page.keyboard.press('ArrowDown');
  const widest = await text(page, '#detail strong');
  assert.notEqual(widest, 'all threads');
  await page.keyboard.press('Enter');
  assert.equal(await page.$eval('#zoom-out', (e) => e.disabled), false);
  await page.keyboard.press('Space');
  assert.equal(await text(page, '#method-name'), widest);
  await page.keyboard.press('Escape');
  assert.equal(await page.$eval('#zoom-out', (e) => e.disabled), true);
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
});

test('everything is reached with the tab key', 'threads.html', async (page) => {
  const reached = new Set();
  for (let i = 0; i < 20; i += 1) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.id));
  }
  for (const id of ['metric', 'thread', 'search', 'theme', 'tab-flame', 'direction-callers', 'graph']) assert.ok(reached.has(id), id);
});

test('search says the share of what it found, once', 'threads.html', async (page) => {
  await search(page, 'Threads.work');
  const work = await text(page, '#matches');
  await page.click('#tab-methods');
  const shown = await page.$$eval('#method-table .row .name', (all) => all.map((e) => e.textContent));
  assert.ok(shown.length >= 1 && shown.every((name) => name.includes('Threads.work')), shown.join());
  const total = await text(page, '#method-table .row .number:nth-child(3)');
  // Nothing called work recursively: what is below it is its total.
  assert.ok(work.includes(total), `${work} without ${total}`);
  await search(page, 'no such method');
  assert.equal(await text(page, '#matches'), 'No method matches.');
});

test('the table sorts', 'threads.html', async (page) => {
  await page.click('#tab-methods');
  for (const [column, cell] of [['calls', 5], ['total', 3], ['own', 1]]) {
    await page.click(`#method-table [data-sort="${column}"]`);
    const values = await page.$$eval(`#method-table .row .number:nth-child(${cell})`, (all) => all.map((e) => Number(e.textContent.replaceAll(',', ''))));
    assert.ok(values.length > 5 && values.every((v, i) => i === 0 || v <= values[i - 1]), `${column}: ${values}`);
    assert.equal(await page.$eval(`#method-table [data-sort="${column}"]`, (e) => e.getAttribute('aria-sort')), 'descending');
  }
  await page.click('#method-table .head [data-sort="name"]');
  // By class first: Threads before Threads$$Lambda.
  const classes = await page.$$eval('#method-table .row .name', (all) => all.map((e) => e.textContent.replace(/\.[^.]*\(.*$/, '')));
  assert.ok(classes.length > 5 && classes[0] < 'a', classes[0]);
  assert.deepEqual(classes, classes.slice().sort());
});

test('a click counts even if the list is drawn between press and release', 'threads.html', async (page) => {
  for (const [tab, list] of [['methods', 'method-table'], ['contexts', 'context-tree']]) {
    await page.click(`#tab-${tab}`);
    const [x, y, name] = await page.$eval(`#${list} .row bdi`, (bdi) => {
      const box = bdi.getBoundingClientRect();
      return [box.x + 5, box.y + box.height / 2, bdi.closest('.name').title];
    });
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.evaluate((id) => document.getElementById(id).dispatchEvent(new Event('scroll')), list);
    await page.mouse.up();
    assert.equal(await page.$eval('#method', (e) => e.hidden), false, tab);
    assert.equal(await page.$eval('#method-name .name', (e) => e.title), name);
    await page.click('#close');
  }
});

test('scrolled, a list shows what is there', 'compiler.html', async (page) => {
  await page.click('#tab-methods');
  const shown = () => page.$eval('#method-table', (table) => {
    const head = table.querySelector('.head').getBoundingClientRect().bottom;
    const bottom = table.getBoundingClientRect().top + table.clientHeight;
    return [...table.querySelectorAll('.row')].map((row) => ({ index: Number(row.dataset.index), box: row.getBoundingClientRect() }))
      .filter(({ box }) => box.bottom > head && box.top < bottom)
      .map(({ index, box }) => [index, Math.max(box.top, head), Math.min(box.bottom, bottom)]);
  });
  const drawn = () => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
  // By a row, back by a page, far, to the end, and to the beginning.
  for (const to of [24, 1000, 700, 20000, 1e9, 0]) {
    await page.$eval('#method-table', (table, y) => { table.scrollTop = y; }, to);
    await drawn();
    const rows = await shown();
    assert.ok(rows.length > 5, `${to}: ${rows.length} rows`);
    rows.forEach(([index, top], i) => i > 0 && assert.deepEqual([index, top], [rows[i - 1][0] + 1, rows[i - 1][2]]));
  }
  await page.focus('#method-table');
  await page.keyboard.press('End');
  await drawn();
  const last = Number(await page.$eval('#method-table', (table) => table.getAttribute('aria-rowcount'))) - 2;
  assert.equal(await page.$eval('#method-table .current', (row) => Number(row.dataset.index)), last);
  assert.equal(await page.$$eval('#method-table [aria-selected]', (all) => all.length), 1);
  await page.keyboard.press('Home');
  await drawn();
  assert.deepEqual(await page.$$eval('#method-table [aria-selected]', (all) => all.map((row) => row.dataset.index)), ['0']);
  assert.equal(await page.$eval('#method-table', (table) => table.getAttribute('aria-activedescendant')), 'method-table-0');
});

test('the tree marks what is found', 'threads.html', async (page) => {
  await page.click('#tab-contexts');
  const marked = () => page.$$eval('#context-tree .row.match', (all) => all.map((e) => e.textContent));
  const first = await page.$eval('#context-tree .row .name bdi', (e) => e.textContent);
  await search(page, first.split('(')[0]);
  const found = await marked();
  assert.ok(found.length >= 1 && found.every((row) => row.includes(first)), found.join());
  await search(page, 'no such method');
  assert.deepEqual(await marked(), []);
});

test('the tree by keys alone', 'threads.html', async (page) => {
  await page.click('#tab-contexts');
  await page.focus('#context-tree');
  await page.keyboard.press('ArrowDown');
  const rows = () => page.$$eval('#context-tree .row', (all) => all.map((e) => [e.getAttribute('aria-level'), e.getAttribute('aria-expanded')]));
  const closed = await rows();
  assert.ok(closed.every(([level]) => level === '1'));
  await page.keyboard.press('ArrowRight');
  const opened = await rows();
  assert.deepEqual(opened[0], ['1', 'true']);
  assert.equal(opened[1][0], '2');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.$eval('#context-tree .row.current', (e) => e.getAttribute('aria-level')), '2');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  assert.deepEqual(await rows(), closed);
  await page.keyboard.press('Enter');
  assert.equal(await page.$eval('#method', (e) => e.hidden), false);
});

test('annotated source and bytecode', 'source.html', async (page) => {
  assert.equal(await page.title(), '</title><b>title · cprof');
  await choose(page, 'metric', 'bytecodes');
  await search(page, 'Threads.work');
  await page.click('#tab-methods');
  await clickOn(page, '#method-table .row');
  await page.waitForSelector('.listing');
  const body = await text(page, '#method-body');
  assert.match(body, /Source: .*Threads\.java/);
  assert.match(body, /iload_|iinc|lload_/);
  assert.match(body, /not taken/);
  // Executions add up to the method's bytecodes.
  const executions = await page.$$eval('.code section:last-of-type tr td:nth-child(2)', (all) => all.map((e) => Number(e.textContent.replaceAll(',', ''))));
  const own = await text(page, '#method-table .row .number');
  assert.equal(executions.reduce((a, b) => a + b, 0).toLocaleString('en-US'), own);
});

test('shares of code are of what the method costs', 'threads.html', async (page) => {
  await choose(page, 'metric', 'cycles[jop,4k/16]');
  await search(page, 'java.util.*.of');
  await page.click('#tab-methods');
  const number = (text) => Number(text.replaceAll(',', '').replace('%', ''));
  let elsewhere = 0;
  for (let row = 1; row <= 8; row += 1) {
    await clickOn(page, `#method-table .row:nth-child(${row})`);
    await page.waitForSelector('.listing');
    const own = number(await page.$eval('#method-body dl.facts dd', (e) => e.textContent));
    const cells = await page.$$eval('.code section:last-of-type tr', (all) => all.slice(1).map((tr) => [tr.children[2].textContent, tr.children[3].textContent]));
    const rows = cells.map((pair) => pair.map(number));
    for (const [cycles, share] of rows) assert.ok(Math.abs(share - cycles * 100 / own) < 0.0501, `${cycles} of ${own}: ${share}`);
    if (rows.reduce((sum, [cycles]) => sum + cycles, 0) !== own) elsewhere += 1;
    await page.click('#close');
  }
  assert.ok(elsewhere > 0, 'some have cycles of no single bytecode');
});

test('light and dark', 'threads.html', async (page) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
  const dark = await paper();
  await page.click('#theme');
  const light = await paper();
  assert.notEqual(light, dark);
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  assert.equal(await paper(), light);
  await page.click('#theme');
  assert.equal(await paper(), dark);
});

test('a comparison says what is new and gone', 'diff.html', async (page) => {
  const totals = await text(page, '#totals');
  assert.match(totals, /in new contexts[1-9].*in contexts now gone[1-9]/);
  await page.click('#width-before');
  await page.focus('#graph');
  await page.keyboard.press('ArrowDown');
  assert.match(await text(page, '#detail'), /before [1-9][\d,]*, [+−][\d,]+ \([+−]/);
  await page.click('#tab-methods');
  await page.click('#method-table [data-sort="change"]');
  assert.match(await text(page, '#method-table .row'), /[+−]/);
  await settled(page);
});

test('what the run was', 'threads.html', async (page) => {
  await page.click('#tab-run');
  assert.match(await text(page, '#run'), /Main class\s*Threads.*JVM.*Options/s);
});
