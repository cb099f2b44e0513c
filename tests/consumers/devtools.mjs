// node devtools.mjs MODULES FILE: loads a trace with the engine of Chrome's DevTools; prints the sum of what the outermost entries of
// all threads last, in microseconds.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, file] = process.argv.slice(2);
const engine = path.join(path.resolve(modules), '@paulirish/trace_engine');
const load = (name) => import(pathToFileURL(path.join(engine, name)));
const { polyfillDOMRect } = await load('analyze-trace.mjs');
const Trace = await load('models/trace/trace.js');
polyfillDOMRect();

const events = JSON.parse(fs.readFileSync(file)).traceEvents;
const model = Trace.TraceModel.Model.createWithAllHandlers();
await model.parse(events);
const trace = model.parsedTrace();
if (!trace) throw new Error('no data');
let sum = 0;
let entries = 0;
for (const [, process] of trace.data.Renderer.processes) {
    for (const [, thread] of process.threads) {
        entries += thread.entries.length;
        for (const root of thread.tree?.roots ?? []) sum += root.entry.dur;
    }
}
const wanted = events.filter((event) => event.ph === 'X').length;
if (entries !== wanted) throw new Error(`${entries} of ${wanted} entries were taken`);
console.log(String(sum));
