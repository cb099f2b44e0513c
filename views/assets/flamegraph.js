// Click or Enter: zoom. Escape: all. Arrow keys: walk. / : search.
(() => {
  'use strict';
  const holder = document.getElementById('frames');
  const detail = document.getElementById('detail');
  const search = document.getElementById('search');
  const number = (element, name) => Number(element.getAttribute(`data-${name}`));
  const whole = number(holder, 'whole');
  const left = number(holder, 'left');
  const width = number(holder, 'width');
  const character = number(holder, 'character');
  const frames = [...holder.children].map((g) => ({
    g, rect: g.querySelector('rect'), x: number(g, 'x'), v: number(g, 'v'), depth: number(g, 'd'), name: g.getAttribute('data-n'),
    title: g.querySelector('title').textContent,
  }));
  // Names may have line ends of their own; the numbers are the last line.
  const inTwo = (title) => [title.slice(0, title.lastIndexOf('\n')), title.slice(title.lastIndexOf('\n') + 1)];
  const of = new Map(frames.map((frame) => [frame.g, frame]));
  let zoomed = frames[0];
  let matches = '';

  const label = (frame, x, wide) => {
    let text = frame.g.querySelector('text');
    const room = Math.floor((wide - 6) / character);
    if (room < 3) {
      if (text) text.remove();
      return;
    }
    if (!text) {
      text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
      text.setAttribute('y', Number(frame.rect.getAttribute('y')) + 12);
      frame.g.append(text);
    }
    const letters = [...frame.name];
    text.textContent = letters.length <= room ? frame.name : `${letters.slice(0, room - 1).join('')}…`;
    text.setAttribute('x', x + 3);
  };

  const zoom = (to) => {
    zoomed = to;
    const scale = width / (to.v || 1);
    for (const frame of frames) {
      const above = frame.depth < to.depth && frame.x <= to.x && frame.x + frame.v >= to.x + to.v;
      const below = frame.depth >= to.depth && frame.x >= to.x && frame.x + frame.v <= to.x + to.v;
      frame.g.style.display = above || below ? '' : 'none';
      frame.g.classList.toggle('above', above);
      if (!above && !below) continue;
      const x = above ? left : left + (frame.x - to.x) * scale;
      const wide = above ? width : frame.v * scale;
      frame.rect.setAttribute('x', x);
      frame.rect.setAttribute('width', wide);
      label(frame, x, wide);
    }
  };

  const describe = (frame) => { detail.textContent = frame ? inTwo(frame.title).join(' · ') : matches; };

  const find = () => {
    const wanted = search.value.trim().toLowerCase();
    let share = 0;
    let until = 0;
    const found = frames.filter((frame) => {
      const match = wanted !== '' && frame.depth > 0 && inTwo(frame.title)[0].toLowerCase().includes(wanted);
      frame.g.classList.toggle('match', match);
      return match;
    });
    // Outermost frames only: what is below one is in it.
    found.sort((a, b) => a.x - b.x || a.depth - b.depth);
    for (const frame of found) {
      if (frame.x >= until) {
        share += frame.v;
        until = frame.x + frame.v;
      }
    }
    matches = wanted === '' ? '' : `${found.length} matching frames of those drawn: ${(whole ? share * 100 / whole : 0).toFixed(1)}% (${share.toLocaleString('en-US')})`;
    describe(null);
  };

  const neighbour = (frame, key) => {
    const visible = frames.filter((f) => f.g.style.display !== 'none');
    const depth = frame.depth + { ArrowDown: 1, ArrowUp: -1, ArrowLeft: 0, ArrowRight: 0 }[key];
    const row = visible.filter((f) => f.depth === depth).sort((a, b) => a.x - b.x);
    if (key === 'ArrowDown') return row.filter((f) => f.x >= frame.x && f.x + f.v <= frame.x + frame.v).sort((a, b) => b.v - a.v)[0];
    if (key === 'ArrowUp') return row.find((f) => f.x <= frame.x && f.x + f.v >= frame.x + frame.v);
    return row[row.indexOf(frame) + (key === 'ArrowRight' ? 1 : -1)];
  };

  const frameOf = (event) => of.get(event.target.closest('#frames > g'));
  holder.addEventListener('click', (event) => { const frame = frameOf(event); if (frame) zoom(frame); });
  holder.addEventListener('mouseover', (event) => describe(frameOf(event)));
  holder.addEventListener('mouseout', () => describe(null));
  holder.addEventListener('focusin', (event) => describe(frameOf(event)));
  document.addEventListener('keydown', (event) => {
    if (event.target === search) {
      if (event.key === 'Escape') { search.value = ''; find(); }
      return;
    }
    // The browser's own.
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const frame = of.get(document.activeElement) || zoomed;
    if (event.key === '/') search.focus();
    else if (event.key === 'Escape') zoom(frames[0]);
    else if (event.key === 'Enter') zoom(frame);
    else if (event.key.startsWith('Arrow')) (neighbour(frame, event.key) || frame).g.focus();
    else return;
    event.preventDefault();
  });
  search.addEventListener('input', find);
})();
