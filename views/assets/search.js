// Search: which methods fit, and what share they are of the whole.

/** Per symbol 1 where Class.method fits: * stands for any characters, capitals do not matter, any part of the name may fit. */
function matching(model, text) {
  const words = text.trim().toLowerCase().split('*');
  if (words.join('') === '') return null;
  const found = new Uint8Array(model.names.length);
  for (let symbol = 1; symbol < found.length; symbol += 1) {
    if (!model.isMethod(symbol)) continue;
    const name = model.fullName(symbol).toLowerCase();
    let at = 0;
    found[symbol] = words.every((word) => {
      const next = name.indexOf(word, at);
      at = next + word.length;
      return next >= 0;
    }) ? 1 : 0;
  }
  return found;
}

/** How much of a view the matches are: methods, contexts, and cost with callees where none is counted twice; and methods now gone. */
function matchShare(view, found) {
  const { model, total, there } = view;
  const result = { methods: 0, contexts: 0, cost: 0, gone: 0 };
  const seen = new Uint8Array(found.length);
  let coveredUntil = 0;
  for (let i = 1; i < model.count; i += 1) {
    const symbol = model.symbol[i];
    if (found[symbol] === 0) continue;
    if (i >= coveredUntil) {
      result.cost += total[i];
      coveredUntil = model.end[i];
    }
    if (there[i] === 0) continue;
    result.contexts += 1;
    if (seen[symbol] === 0) result.methods += 1;
    seen[symbol] = 1;
  }
  if (view.compares) {
    const gone = new Set();
    for (let i = 1; i < model.count; i += 1) {
      if (found[model.symbol[i]] === 1 && seen[model.symbol[i]] === 0 && view.thereBefore[i] === 1) gone.add(model.symbol[i]);
    }
    result.gone = gone.size;
  }
  return result;
}

