// A viewer that reads what `cprof export` writes.
'use strict';

const path = require('node:path');
const { test, report, assert } = require('./browser');

const SPEEDSCOPE = path.join(process.env.CPROF_CONSUMERS, 'speedscope/dist/release/index.html');

test('speedscope shows the same numbers', SPEEDSCOPE, async (page) => {
  // Its own files, and its greeting.
  page.expected = /^(request: (file|data|blob):|console: speedscope v)/;
  const input = await page.waitForSelector('input[type=file]');
  await input.uploadFile(path.resolve('threads.speedscope.json'));
  await page.waitForFunction(() => document.title.includes(': bytecodes'));
  const [thread] = (await page.title()).split(': bytecodes');
  // The sandwich view: total, self, name of each method.
  await page.keyboard.press('3');
  const cells = () => [...document.querySelectorAll('tr')]
    .map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)).filter((row) => row.length === 3);
  await page.waitForFunction(`(${cells})().length > 10`);
  const rows = await page.evaluate(cells);
  const { methods } = report('threads.cprof', '--target', 'bytecodes', '--cache', 'ideal', '--thread', thread);
  for (const [, self, name] of rows) {
    const own = Number(self.replace(/ \(.*/, '').replaceAll(',', ''));
    const fits = methods.some((m) => name.startsWith(`${m.class}.${m.method}(`) && m.bytecodes === own);
    assert.ok(fits, `${thread}: ${name}: ${self}`);
  }
});
