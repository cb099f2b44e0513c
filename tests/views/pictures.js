// Flame graphs as SVG.
'use strict';

const { test, report, assert } = require('./browser');
const { text } = require('./steps');

const visible = (page) => page.$$eval('#frames > g', (all) => all.filter((g) => g.style.display !== 'none').length);

test('the picture: total, zoom, search, keys', 'threads.svg', async (page) => {
  const expected = report('threads.cprof').totals.cycles;
  assert.equal(await page.$eval('#frames > g', (g) => Number(g.dataset.v)), expected);
  // Frames beside each other never have more than the one above.
  const wrong = await page.$$eval('#frames > g', (all) => {
    const by = new Map();
    for (const g of all) {
      const [x, v, d] = ['x', 'v', 'd'].map((k) => Number(g.dataset[k]));
      const above = d === 0 ? null : by.get(d - 1);
      if (above && (x < above.x || x + v > above.x + above.v)) return g.dataset.n;
      by.set(d, { x, v });
    }
    return null;
  });
  assert.equal(wrong, null);
  const all = await visible(page);
  const frame = await page.$('#frames > g[data-d="2"]');
  await frame.click();
  const fewer = await visible(page);
  assert.ok(fewer < all, `${fewer} of ${all}`);
  await page.keyboard.press('Escape');
  assert.equal(await visible(page), all);
  await page.keyboard.press('/');
  await page.keyboard.type('Threads.work');
  assert.match(await text(page, '#detail'), /matching frames of those drawn: [\d.]+%/);
  assert.ok(await page.$$eval('#frames .match', (found) => found.length) > 0);
  await page.$eval('#frames > g', (g) => g.focus());
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.ok(await visible(page) < all);
});

test('what is not drawn is said', 'threads.svg', async (page) => {
  const said = await page.$$eval('.about', (all) => all.map((e) => e.textContent).join(' '));
  const contexts = report('threads.cprof').totals.contexts;
  const [, hidden] = said.match(/not drawn: ([\d,]+) narrower contexts/);
  const drawn = await page.$$eval('#frames > g', (all) => all.length - 1);
  const narrower = Number(hidden.replaceAll(',', ''));
  assert.ok(narrower > 0 && narrower + drawn <= contexts, `${narrower} and ${drawn} of ${contexts}`);
  assert.ok(drawn > 100);
});

test('names in the picture are text', 'hostile.svg', async (page) => {
  const found = await page.evaluate(() => [...document.querySelectorAll('#frames > g > title')]
    .some((title) => title.textContent.startsWith('<img src=x onerror=alert(1)>.run()')));
  assert.ok(found);
  assert.equal(await text(page, '.title'), '<b>]]></svg>');
  assert.equal(await page.$$eval('script', (all) => all.length), 1);
  assert.equal(await page.$$eval('img, b', (all) => all.length), 0);
});

test('a comparison in colours', 'diff.svg', async (page) => {
  const about = await page.$$eval('.about', (all) => all.map((e) => e.textContent).join(' '));
  assert.match(about, /before: [\d,]+ \([+-].*in new contexts: [1-9].*in contexts now gone, which are not drawn: [1-9]/);
  assert.ok(about.includes(report('hostile.cprof').totals.cycles.toLocaleString('en-US')), about);
  const fills = await page.$$eval('#frames rect', (all) => new Set(all.map((r) => r.getAttribute('fill'))).size);
  assert.ok(fills > 3);
});

test('callers by calls', 'reverse.svg', async (page) => {
  const { totals } = report('threads.cprof');
  assert.equal(await page.$eval('#frames > g', (g) => Number(g.dataset.v)), totals.calls + totals.native_calls);
});
