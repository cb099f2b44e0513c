// node speedscope.mjs MODULES FILE: checks a file against speedscope's own schema and what its reader demands besides; prints the sum
// over all profiles.
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
let sum = 0n;
for (const profile of content.profiles) {
    const stack = [];
    let at = profile.startValue;
    for (const event of profile.events) {
        if (event.at < at) throw new Error(`${profile.name}: ${event.at} after ${at}`);
        at = event.at;
        if (event.frame >= content.shared.frames.length) throw new Error(`${profile.name}: no frame ${event.frame}`);
        if (event.type === 'O') stack.push(event.frame);
        else if (stack.pop() !== event.frame) throw new Error(`${profile.name}: closed in another order at ${at}`);
    }
    if (stack.length > 0 || at !== profile.endValue) throw new Error(`${profile.name}: does not end`);
    sum += BigInt(profile.endValue - profile.startValue);
}
console.log(String(sum));
