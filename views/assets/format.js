// Numbers, names and colours as text.
'use strict';

const thousandsFormat = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** 1234567 as 1,234,567. */
function thousands(number) {
  return thousandsFormat.format(number);
}

/** 1 method, 2 methods. */
function counted(number, what) {
  return `${thousands(number)} ${what}${number === 1 ? '' : 's'}`;
}

/** A change, with its sign. */
function signed(number) {
  return (number > 0 ? '+' : number < 0 ? '−' : '±') + thousands(Math.abs(number));
}

/** So many digits after the point, as the command line has them: what is exactly between two goes to the even one, here up. */
function fixed(number, digits) {
  const up = number.toFixed(digits);
  // A binary fraction is between two only where it is an odd number of these, and multiplying by a power of 2 is exact.
  const between = number * 2 ** (digits + 1) % 2 === 1;
  const last = Number(up.slice(-1));
  return between && last % 2 === 1 ? `${up.slice(0, -1)}${last - 1}` : up;
}

/** A share in percent, one digit after the point, as the command line shows it. */
function share(part, whole) {
  return whole === 0 ? '-' : `${fixed(part * 100 / whole, 1)}%`;
}

/** How much more or less, in percent of before, as the command line shows it but for its minus. */
function change(before, after) {
  if (before === after) return '0%';
  if (before === 0) return 'from 0';
  const percent = (after - before) * 100 / before;
  // What changed is not shown as 0, and what is left not as gone.
  if (Math.abs(percent) < 0.01) return percent > 0 ? '< +0.01%' : '> −0.01%';
  if (after > 0 && percent < -99.99) return '> −100%';
  return `${percent > 0 ? '+' : '−'}${fixed(Math.abs(percent), 2)}%`;
}

const PRIMITIVES = { B: 'byte', C: 'char', D: 'double', F: 'float', I: 'int', J: 'long', S: 'short', Z: 'boolean' };

/** The parameter types of a descriptor as in Java source, classes without packages; a text that is no descriptor stays. */
function parameters(descriptor) {
  const types = [];
  let at = 1;
  if (!descriptor.startsWith('(')) return descriptor;
  while (at < descriptor.length && descriptor[at] !== ')') {
    let dimensions = 0;
    while (descriptor[at] === '[') { dimensions += 1; at += 1; }
    let name = PRIMITIVES[descriptor[at]];
    if (descriptor[at] === 'L') {
      const end = descriptor.indexOf(';', at);
      if (end < 0) return descriptor;
      name = descriptor.slice(descriptor.lastIndexOf('/', end) >= at ? descriptor.lastIndexOf('/', end) + 1 : at + 1, end);
      at = end;
    }
    if (name === undefined) return descriptor;
    types.push(name + '[]'.repeat(dimensions));
    at += 1;
  }
  return descriptor[at] === ')' ? `(${types.join(', ')})` : descriptor;
}

/** The type of a descriptor's result, named in the same way. */
function result(descriptor) {
  const type = descriptor.slice(descriptor.lastIndexOf(')') + 1);
  return type === 'V' ? 'void' : parameters(`(${type})`).slice(1, -1);
}

/** The package of a class; of lambdas and inner classes that of the class around them. */
function packageOf(className) {
  const dot = className.lastIndexOf('.');
  return dot < 0 ? '' : className.slice(0, dot);
}

/** FNV-1a over UTF-16 units, as the command line's pictures do. */
function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return h;
}

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

/** A colour by package; the same hue in every picture. Matches are purple, which packages never are. */
function packageColour(name, dark) {
  const h = hash(name);
  const hue = (h % 270 + 330) % 360;
  const step = Math.floor(h / 270) % 5;
  return dark ? `hsl(${hue} 32% ${30 + step * 2}%)` : `hsl(${hue} 50% ${76 + step * 2}%)`;
}

/** A colour by change: blue for less, red for more; full at half and at double. */
function changeColour(before, after, dark) {
  if (before === after) return dark ? 'hsl(220 6% 30%)' : 'hsl(220 8% 88%)';
  const ratio = Math.max(-1, Math.min(1, Math.log2((after + 1) / (before + 1))));
  const strength = Math.abs(ratio) ** 0.6;
  const hue = ratio > 0 ? 8 : 212;
  return dark ? `hsl(${hue} ${15 + 55 * strength}% ${31 + 13 * strength}%)` : `hsl(${hue} ${40 + 45 * strength}% ${89 - 25 * strength}%)`;
}

/** An element with text. Names only ever get into the page this way: as text. */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const byId = (id) => document.getElementById(id);

