// What a user does with a page.
'use strict';

/** The text of an element. */
const text = (page, selector) => page.$eval(selector, (e) => e.textContent);

/** Until the numbers of a choice are there. */
const settled = (page) => page.waitForFunction(() => !document.body.hasAttribute('aria-busy'));

/** Chooses by an option's text; the first that begins with it. */
async function choose(page, id, label) {
  const value = await page.$eval(`#${id}`, (select, wanted) => {
    const found = [...select.options].find((o) => o.textContent.replaceAll('_', ' ').startsWith(wanted.replaceAll('_', ' ')));
    return found && found.value;
  }, label);
  if (value === undefined) throw new Error(`${id} has no ${label}`);
  await page.select(`#${id}`, value);
  await settled(page);
}

/** The totals on the page, as numbers. */
const totals = (page) => page.$$eval('#totals [data-total]', (all) => Object.fromEntries(
  all.map((e) => [e.dataset.total, Number(e.textContent.replaceAll(',', ''))])));

/** Clicks where an element is: rows are drawn anew, and one that was found may be another object by then. */
async function clickOn(page, selector) {
  const [x, y] = await page.$eval(selector, (e) => {
    const box = e.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  });
  await page.mouse.click(x, y);
}

async function search(page, words) {
  await page.$eval('#search', (e) => { e.value = ''; });
  await page.focus('#search');
  await page.keyboard.type(words);
  await page.keyboard.press('Enter');
}

/** The method table as it would be saved: one object per row. */
async function saved(page) {
  await page.click('#tab-methods');
  await page.click('#save');
  const lines = (await page.evaluate(() => window.savedBlob.text())).trim().split('\r\n').map(fields);
  return lines.slice(1).map((line) => Object.fromEntries(line.map((value, i) => [lines[0][i], value])));
}

/** A line of RFC 4180. */
function fields(line) {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((m) => (m[1] === undefined ? m[2] : m[1].replaceAll('""', '"')));
}

module.exports = { clickOn, text, settled, choose, totals, search, saved };
