// node speedscope.mjs MODULES FILE: checks a file against speedscope's own schema and what its reader demands besides; prints
// {metric: {frame: [own, with callees]}}, summed over all profiles.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [modules, file] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), 'index.js'));
const Ajv = require('ajv');
const schema = JSON.parse(fs.readFileSync(require.resolve('speedscope/dist/release/file-format-schema.json')));
const content = JSON.parse(fs.readFileSync(file));

const validate = new Ajv({ strict: false }).compile(schema);
if (!validate(content)) {
    console.error(validate.errors.slice(0, 5));
    process.exit(1);
}
const sums = {};
for (const profile of content.profiles) {
    const metric = profile.name.slice(profile.name.lastIndexOf(': ') + 2);
    const costs = (sums[metric] ??= content.shared.frames.map(() => [0, 0]));
    const stack = [];
    // How often a frame is open, and since when: inner calls of a recursive method are in the outer one's already.
    const active = new Uint32Array(costs.length);
    const since = new Float64Array(costs.length);
    let at = profile.startValue;
    for (const { type, frame, at: now } of profile.events) {
        if (now < at) throw new Error(`${profile.name}: ${now} after ${at}`);
        if (frame >= costs.length) throw new Error(`${profile.name}: no frame ${frame}`);
        if (now > at) {
            if (stack.length === 0) throw new Error(`${profile.name}: nothing is open from ${at} to ${now}`);
            costs[stack[stack.length - 1]][0] += now - at;
            at = now;
        }
        if (type === 'O') {
            stack.push(frame);
            if (active[frame]++ === 0) since[frame] = at;
        } else if (stack.pop() !== frame) {
            throw new Error(`${profile.name}: closed in another order at ${at}`);
        } else if (--active[frame] === 0) {
            costs[frame][1] += at - since[frame];
        }
    }
    if (stack.length > 0 || at !== profile.endValue) throw new Error(`${profile.name}: does not end`);
}
const named = {};
for (const [metric, costs] of Object.entries(sums)) {
    const rows = (named[metric] = {});
    costs.forEach(([own, total], i) => {
        const { name } = content.shared.frames[i];
        if (Object.hasOwn(rows, name)) throw new Error(`two frames ${name}`);
        rows[name] = [own, total];
    });
}
console.log(JSON.stringify(named));
