// A list of any length of which only the visible rows are elements.

const ROW = 24;

/**
 * Rows of equal height within a scrolling element. `render(index, row)` fills an empty row, `key` takes the keys that the list itself does not know.
 * The list has the focus, its rows are named by aria-activedescendant.
 */
class List {
  constructor(holder, { render, key, role }) {
    Object.assign(this, { holder, render, key, role, count: 0, current: -1 });
    this.spacer = element('div', 'spacer');
    this.window = element('div', 'window');
    this.window.setAttribute('role', 'presentation');
    this.spacer.setAttribute('role', 'presentation');
    this.spacer.append(this.window);
    holder.append(this.spacer);
    holder.addEventListener('scroll', () => this.draw(), { passive: true });
    holder.addEventListener('keydown', (event) => this.keydown(event));
    new ResizeObserver(() => this.draw()).observe(holder);
  }

  /** The most pixels that browsers give an element; longer lists are scrolled in larger steps. */
  get height() { return Math.min(this.count * ROW, 8e6); }

  get isLonger() { return this.count * ROW > this.height; }

  /** How many rows there is room for, and how far a list can be scrolled. */
  get rows() { return Math.max(1, Math.floor((this.holder.clientHeight - this.top) / ROW)); }

  get end() { return Math.max(1, this.height + this.top - this.holder.clientHeight); }

  /** The row that is at the top. */
  get first() {
    const scrolled = this.holder.scrollTop;
    if (!this.isLonger) return Math.max(0, Math.floor(scrolled / ROW));
    return Math.round(Math.max(0, Math.min(1, scrolled / this.end)) * (this.count - this.rows));
  }

  get page() { return Math.max(1, Math.floor((this.holder.clientHeight - this.top) / ROW) - 1); }

  /** Height of what stays above the rows. */
  get top() { return this.spacer.offsetTop - this.holder.clientTop > 0 && this.header ? this.header.offsetHeight : 0; }

  reset(count, current = -1) {
    this.count = count;
    this.current = Math.min(current, count - 1);
    this.spacer.style.height = `${this.height}px`;
    this.redraw();
  }

  /** Shows a row and makes it the current one. */
  go(index) {
    if (this.count === 0) return;
    this.current = Math.max(0, Math.min(this.count - 1, index));
    const { first, rows } = this;
    if (this.isLonger) {
      // Into the middle: a pixel is more than a row.
      if (this.current < first || this.current >= first + rows) this.holder.scrollTop = ((this.current - rows / 2) / (this.count - rows)) * this.end;
    } else {
      const y = this.current * ROW;
      const visible = this.holder.clientHeight - this.top - ROW;
      if (y < this.holder.scrollTop) this.holder.scrollTop = y;
      else if (y > this.holder.scrollTop + visible) this.holder.scrollTop = y - visible;
    }
    this.draw();
  }

  keydown(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: this.page, PageUp: -this.page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (event.target !== this.holder || event.altKey || event.ctrlKey || event.metaKey) return;
    if (step !== undefined) {
      event.preventDefault();
      this.go(this.current < 0 && Number.isFinite(step) ? 0 : this.current + step);
    } else if (this.key && this.current >= 0 && this.key(event, this.current)) {
      event.preventDefault();
    }
  }

  /**
   * Shows the rows at which the list is scrolled. Those that are there already stay the elements they are: a browser forgets a click
   * whose element goes away between press and release.
   */
  draw() {
    const { first } = this;
    const end = Math.min(this.count, first + Math.ceil(this.holder.clientHeight / ROW) + 1);
    for (const row of [...this.window.children]) if (row.dataset.index < first || row.dataset.index >= end) row.remove();
    const next = this.window.firstChild;
    const [from, until] = next ? [Number(next.dataset.index), Number(this.window.lastChild.dataset.index) + 1] : [end, end];
    for (let i = first; i < from; i += 1) this.window.insertBefore(this.row(i), next);
    for (let i = until; i < end; i += 1) this.window.append(this.row(i));
    this.window.style.transform = `translateY(${this.isLonger ? this.holder.scrollTop : first * ROW}px)`;
    this.mark();
  }

  /** Shows all rows anew: what they say has changed. */
  redraw() {
    this.window.replaceChildren();
    this.draw();
  }

  row(index) {
    const row = element('div', 'row');
    row.setAttribute('role', this.role);
    row.id = `${this.holder.id}-${index}`;
    row.dataset.index = index;
    this.render(index, row);
    return row;
  }

  /** Says which row is the current one. */
  mark() {
    const marked = this.window.querySelector('.current');
    const current = this.window.querySelector(`[data-index="${this.current}"]`);
    if (marked && marked !== current) {
      marked.classList.remove('current');
      marked.removeAttribute('aria-selected');
    }
    if (current) {
      current.classList.add('current');
      current.setAttribute('aria-selected', 'true');
      this.holder.setAttribute('aria-activedescendant', current.id);
    } else {
      this.holder.removeAttribute('aria-activedescendant');
    }
  }
}

/** The row that an event is on. */
function rowOf(event) {
  const row = event.target.closest('.row[data-index]');
  return row ? Number(row.dataset.index) : -1;
}

