// Tests in a browser: each in a page of its own that must not say, ask or fetch anything.
'use strict';

const puppeteer = require('puppeteer-core');
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const path = require('node:path');

const tests = [];

/** A test on a file: `body(page, milliseconds)`, which may set `page.expected` to what is not wrong in it. */
function test(title, file, body) {
  tests.push({ title, file, body });
}

/** What `cprof report --format json` says. */
function report(...args) {
  return JSON.parse(execFileSync(process.env.CPROF, ['report', ...args, '--format', 'json'], { maxBuffer: 1 << 30 }));
}

/** A page that is ready, and what went wrong in it. */
async function open(browser, file) {
  const page = await browser.newPage();
  const wrong = [];
  page.on('console', (message) => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => {
    if (!/^(file:.*\.(html|svg)$|blob:)/.test(request.url())) wrong.push(`request: ${request.url().slice(0, 200)}`);
  });
  await page.setViewport({ width: 1280, height: 800 });
  // What the page saves.
  await page.evaluateOnNewDocument(() => {
    const create = URL.createObjectURL;
    URL.createObjectURL = (blob) => { window.savedBlob = blob; return create.call(URL, blob); };
  });
  const begin = Date.now();
  await page.goto(`file://${path.resolve(file)}`, { timeout: 120000 });
  // A viewer of somebody else's is ready when its test says so.
  if (file.endsWith('.html') && !path.isAbsolute(file)) await page.waitForFunction(() => document.body.dataset.ready === 'yes', { timeout: 120000 });
  return { page, wrong, milliseconds: Date.now() - begin };
}

async function run() {
  const browser = await puppeteer.launch({
    executablePath: process.env.BROWSER, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: 300000,
  });
  let passed = 0;
  let failed = 0;
  for (const { title, file, body } of tests) {
    try {
      const { page, wrong, milliseconds } = await open(browser, file);
      await body(page, milliseconds);
      assert.deepEqual(wrong.filter((w) => !page.expected || !page.expected.test(w)), []);
      await page.close();
      passed += 1;
      console.log(`ok ${title}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${title}: ${error.stack}`);
    }
  }
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

module.exports = { test, run, report, assert };
