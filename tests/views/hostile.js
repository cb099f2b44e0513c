// Names that look like markup stay names.
'use strict';

const { test, assert } = require('./browser');
const { search, text, clickOn } = require('./steps');

const IMAGE = '<img src=x onerror=alert(1)>';
const SCRIPT = '<.script><script>alert(2)<';
const THREAD = '</title></script><svg onload=alert(3)>"\'&amp;';

test('names of classes and threads are text', 'hostile.html', async (page) => {
  for (const name of [IMAGE, SCRIPT]) {
    await search(page, name);
    await page.click('#tab-methods');
    const shown = await text(page, '#method-table .row .name');
    assert.ok(shown.startsWith(name), shown);
    await clickOn(page, '#method-table .row');
    assert.ok((await text(page, '#method-name')).startsWith(name));
    await page.click('#tab-contexts');
  }
  const threads = await page.$$eval('#thread option', (all) => all.map((o) => o.textContent));
  assert.ok(threads.includes(THREAD), threads.join());
  assert.equal(await page.$$eval('img, svg, script:not([type])', (all) => all.length), 0);
  assert.equal(await page.$$eval('script[type="module"]', (all) => all.length), 1);
});

test('even markup within the page would not run', 'hostile.html', async (page) => {
  // The browser says on the console what it refuses.
  page.expected = /^console: .*Content Security Policy/;
  const ran = await page.evaluate(async () => {
    const refused = new Promise((done) => { document.addEventListener('securitypolicyviolation', () => done(true)); });
    document.body.insertAdjacentHTML('beforeend', '<button onclick="window.harm = true">x</button>');
    document.body.lastChild.click();
    await refused;
    return window.harm === true;
  });
  assert.equal(ran, false);
});
