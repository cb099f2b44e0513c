// A viewer that reads what `cprof export` writes.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { test, report, assert } = require('./browser');

const SPEEDSCOPE = path.join(process.env.CPROF_CONSUMERS, 'node_modules/speedscope/dist/release/index.html');

async function speedscope(page) {
  // Its own files, what it says of itself, and the browser of WebGL.
  page.expected = /^(request: (file|data|blob):|console: )/;
  const input = await page.waitForSelector('input[type=file]');
  await input.uploadFile(path.resolve('threads.speedscope.json'));
  // Every profile in the file with its total weight, in a list.
  const cells = () => [...document.querySelectorAll('tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent));
  await page.waitForFunction(() => document.querySelectorAll('tr td').length > 0);
  const rows = (await page.evaluate(cells)).filter((row) => row.length === 3);
  const { threads } = report('threads.cprof', '--threads', '--target', 'bytecodes', '--cache', 'ideal');
  const sorted = (pairs) => pairs.map((pair) => pair.join('  ')).sort();
  assert.deepEqual(
    sorted(rows.map(([, name, weight]) => [name, weight.replaceAll(',', '')])),
    sorted(threads.filter((t) => t.bytecodes > 0).map((t) => [`${t.thread}: bytecodes`, t.bytecodes])),
  );
}

// It is fetched, where that is possible.
if (fs.existsSync(SPEEDSCOPE)) test('speedscope shows the same numbers', SPEEDSCOPE, speedscope);
else console.log(`skipped: speedscope in a browser: there is no ${SPEEDSCOPE}`);
