// The flame graph, on a canvas that shows the visible rows.

const FRAME = 19;

class Flame {
  /** `show(symbol)` is called when a method is asked for. */
  constructor(show) {
    this.show = show;
    this.holder = byId('graph');
    this.canvas = byId('canvas');
    this.context = this.canvas.getContext('2d');
    this.direction = 'callees';
    this.side = 'after';
    this.found = null;
    this.zoomed = 0;
    this.focus = null;
    this.hovered = null;
    this.holder.addEventListener('scroll', () => this.draw(), { passive: true });
    this.holder.addEventListener('keydown', (event) => this.keydown(event));
    this.holder.addEventListener('focus', () => this.draw());
    this.holder.addEventListener('blur', () => this.draw());
    this.canvas.addEventListener('mousemove', (event) => this.hover(this.frameAt(event)));
    this.canvas.addEventListener('mouseleave', () => this.hover(null));
    this.canvas.addEventListener('click', (event) => this.click(this.frameAt(event)));
    byId('zoom-out').addEventListener('click', () => this.zoom(0));
    for (const direction of ['callees', 'callers']) {
      byId(`direction-${direction}`).addEventListener('click', () => this.turn(direction));
    }
    for (const side of ['after', 'before']) {
      byId(`width-${side}`).addEventListener('click', () => {
        this.side = side;
        for (const s of ['after', 'before']) byId(`width-${s}`).setAttribute('aria-pressed', String(s === side));
        this.rebuild(this.direction === 'callees');
      });
    }
    new ResizeObserver(() => this.arrange()).observe(this.holder);
  }

  /** Other numbers. What is zoomed into stays, where it is a context. */
  setView(view) {
    this.view = view;
    byId('widths').hidden = !view.compares;
    this.rebuild(this.direction === 'callees');
  }

  setFound(found) {
    this.found = found;
    this.draw();
  }

  turn(direction) {
    this.direction = direction;
    for (const d of ['callees', 'callers']) byId(`direction-${d}`).setAttribute('aria-pressed', String(d === direction));
    this.rebuild();
  }

  rebuild(keepZoom = false) {
    this.graph = this.direction === 'callees' ? new Downwards(this.view, this.side) : new Upwards(this.view, this.side);
    if (!keepZoom || this.graph.value(this.zoomed) === 0) this.zoomed = 0;
    this.focus = null;
    this.hovered = null;
    this.arrange();
    this.describe(null);
    this.legend();
  }

  zoom(node) {
    this.zoomed = node;
    this.focus = null;
    this.arrange();
    const top = this.graph.depth(node) * FRAME;
    if (top < this.holder.scrollTop || top > this.holder.scrollTop + this.holder.clientHeight - 3 * FRAME) {
      this.holder.scrollTop = Math.max(0, top - 2 * FRAME);
    }
    this.setFocus(this.find(node));
  }

  arrange() {
    if (!this.graph || this.holder.clientWidth === 0) return;
    const width = this.holder.clientWidth;
    const { rows, narrow, further } = layout(this.graph, this.zoomed, width);
    this.rows = rows;
    // Where they are now.
    const again = (frame) => (frame && frame.node >= 0 ? this.find(frame.node) : null);
    this.focus = again(this.focus);
    this.hovered = again(this.hovered);
    const height = Math.max(rows.length * FRAME, this.holder.clientHeight);
    byId('graph-height').style.height = `${height}px`;
    byId('zoom-out').disabled = this.zoomed === 0;
    const part = share(narrow.cost, this.graph.value(this.zoomed));
    const pruned = [];
    if (narrow.frames > 0) pruned.push(`${thousands(narrow.frames)} frames are too narrow to tell apart (grey); with all below them ${part} of the cost. Zoom in to see them.`);
    if (further) pruned.push(`Callers more than ${this.graph.levels} levels up are not shown; zoom in to see them.`);
    byId('pruned').textContent = pruned.join(' ');
    this.draw();
  }

  legend() {
    const legend = byId('legend');
    if (!this.view.compares) {
      legend.textContent = 'colours: packages';
      return;
    }
    const swatch = (before, after, text) => {
      const item = element('span', 'swatch', text);
      item.style.setProperty('--colour', changeColour(before, after, isDark()));
      return item;
    };
    legend.replaceChildren(swatch(200, 100, 'half'), swatch(100, 100, 'same'), swatch(100, 200, 'double, new'));
  }

  colour(frame) {
    const dark = isDark();
    if (frame.node < 0) return dark ? '#3a3d44' : '#d5d8dd';
    const symbol = this.graph.symbol(frame.node);
    if (this.found && this.found[symbol]) return dark ? '#a855f7' : '#c084fc';
    if (this.view.compares) return changeColour(...this.graph.pair(frame.node), dark);
    if (frame.node === 0) return dark ? '#3a3d44' : '#d5d8dd';
    return packageColour(packageOf(this.view.model.className(symbol)), dark);
  }

  draw() {
    if (!this.rows) return;
    const { clientWidth: width, clientHeight: height, scrollTop } = this.holder;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const c = this.context;
    const style = getComputedStyle(this.holder);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = `12px ${style.fontFamily}`;
    c.textBaseline = 'middle';
    const ink = style.getPropertyValue('--frame-ink');
    const first = Math.floor(scrollTop / FRAME);
    const last = Math.min(this.rows.length, Math.ceil((scrollTop + height) / FRAME));
    for (let depth = first; depth < last; depth += 1) {
      for (const frame of this.rows[depth]) this.drawFrame(frame, depth * FRAME - scrollTop, ink);
    }
    const focused = document.activeElement === this.holder;
    for (const [frame, colour] of [[this.hovered, style.getPropertyValue('--ink')], [focused ? this.focus : null, style.getPropertyValue('--focus')]]) {
      if (!frame) continue;
      c.strokeStyle = colour;
      c.lineWidth = 2;
      c.strokeRect(frame.x + 1, frame.depth * FRAME - scrollTop + 1, Math.max(1, frame.width - 2), FRAME - 3);
    }
  }

  drawFrame(frame, y, ink) {
    const c = this.context;
    const gap = frame.width > 3 ? 1 : 0;
    c.globalAlpha = frame.above ? 0.55 : this.found && (frame.node < 0 || !this.found[this.graph.symbol(frame.node)]) ? 0.45 : 1;
    c.fillStyle = this.colour(frame);
    c.fillRect(frame.x, y, Math.max(0.5, frame.width - gap), FRAME - 1);
    c.globalAlpha = frame.above ? 0.8 : 1;
    if (frame.width > 34 && frame.node >= 0) {
      c.fillStyle = ink;
      const text = this.fitting(this.label(frame.node), frame.width - 8);
      if (text) c.fillText(text, frame.x + 4, y + FRAME / 2);
    }
    c.globalAlpha = 1;
  }

  label(node) {
    const model = this.view.model;
    return node === 0 ? this.wholeName() : model.shortName(this.graph.symbol(node));
  }

  wholeName() {
    const thread = this.view.thread;
    return thread < 0 ? 'all threads' : this.view.model.meta.threads[thread].label;
  }

  /** As much of a text as has room. */
  fitting(text, width) {
    const wide = (t) => this.context.measureText(t).width;
    let most = Math.min(text.length, Math.ceil(width / 4));
    if (most === text.length && wide(text) <= width) return text;
    let least = 0;
    while (least < most) {
      const middle = Math.ceil((least + most) / 2);
      if (wide(`${text.slice(0, middle)}…`) <= width) least = middle;
      else most = middle - 1;
    }
    return least < 2 ? '' : `${text.slice(0, least)}…`;
  }

  frameAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const depth = Math.floor((event.clientY - box.top + this.holder.scrollTop) / FRAME);
    const x = event.clientX - box.left;
    const row = this.rows[depth] || [];
    const frame = row.find((f) => x >= f.x && x < f.x + Math.max(f.width, 1));
    return frame ? Object.assign(frame, { depth }) : null;
  }

  find(node) {
    const depth = this.graph.depth(node);
    const frame = (this.rows[depth] || []).find((f) => f.node === node);
    return frame ? Object.assign(frame, { depth }) : null;
  }

  hover(frame) {
    if (frame === this.hovered) return;
    this.hovered = frame;
    this.canvas.style.cursor = frame && frame.node >= 0 ? 'pointer' : 'default';
    this.draw();
    this.describe(frame || this.focus);
  }

  setFocus(frame) {
    this.focus = frame;
    if (frame) {
      const y = frame.depth * FRAME;
      if (y < this.holder.scrollTop) this.holder.scrollTop = y;
      else if (y + FRAME > this.holder.scrollTop + this.holder.clientHeight) this.holder.scrollTop = y + FRAME - this.holder.clientHeight;
    }
    this.draw();
    this.describe(frame);
  }

  click(frame) {
    if (!frame || frame.node < 0) return;
    this.zoom(frame.node);
    if (frame.node !== 0) this.show(this.graph.symbol(frame.node));
  }

  /** Says everything about a frame, in words. */
  describe(frame) {
    const detail = byId('detail');
    if (!frame) {
      detail.replaceChildren(element('span', '', 'Click a frame to zoom in and to see its method. Keys: arrows move, Enter zooms in, Backspace and Escape zoom out, Space shows the method, / searches.'));
      return;
    }
    const { view } = this;
    const unit = view.metric.name;
    if (frame.node < 0) {
      detail.replaceChildren(element('strong', '', `${thousands(frame.frames)} narrow frames`),
        element('span', '', `${thousands(frame.cost)} ${unit} (${share(frame.cost, this.graph.value(0))})`));
      return;
    }
    const symbol = this.graph.symbol(frame.node);
    const name = frame.node === 0 ? this.wholeName() : view.model.fullName(symbol);
    const parts = [element('strong', '', name)];
    const [before, after] = this.graph.pair(frame.node);
    parts.push(element('span', '', `${thousands(after)} ${unit} (${share(after, view.whole)})`));
    if (view.compares) parts.push(element('span', '', `before ${thousands(before)}, ${signed(after - before)} (${change(before, after)})`));
    if (this.direction === 'callees' && frame.node !== 0) {
      const node = frame.node;
      parts.push(element('span', '', `${thousands(view.own[node])} own`), element('span', '', `${thousands(view.calls[node])} calls${view.model.siteText(node)}`));
      if (view.exits[node] > 0) parts.push(element('span', '', `${thousands(view.exits[node])} by exception`));
    }
    detail.replaceChildren(...parts);
  }

  keydown(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const moves = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
    if (moves[event.key]) {
      this.setFocus(this.neighbour(moves[event.key]));
    } else if (event.key === 'Enter' && this.focus && this.focus.node >= 0) {
      this.zoom(this.focus.node);
    } else if (event.key === ' ' && this.focus && this.focus.node > 0) {
      this.show(this.graph.symbol(this.focus.node));
    } else if (event.key === 'Escape') {
      this.zoom(0);
    } else if (event.key === 'Backspace') {
      this.zoom(this.graph.parent(this.zoomed));
    } else {
      return;
    }
    event.preventDefault();
  }

  neighbour(way) {
    const from = this.focus;
    if (!from) return this.find(this.zoomed);
    const depth = from.depth + (way === 'down' ? 1 : way === 'up' ? -1 : 0);
    const row = (this.rows[depth] || []).filter((f) => f.node >= 0);
    const widest = (frames) => frames.sort((a, b) => b.width - a.width)[0];
    let next;
    if (way === 'down') next = widest(row.filter((f) => this.graph.parent(f.node) === from.node));
    else if (way === 'up') next = row.find((f) => f.node === this.graph.parent(from.node));
    else next = row[row.indexOf(from) + (way === 'right' ? 1 : -1)];
    return next ? Object.assign(next, { depth }) : from;
  }
}

