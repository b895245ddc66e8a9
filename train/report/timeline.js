// The explorer: panels, one time axis, pointer and keys, selection.

class Explorer {
  constructor(host) {
    this.host = host;
    this.axis = new TimeAxis();
    this.view = null;
    this.selection = null;
    this.hover = null;
    this.pointer = null;
    this.scrolling = 0;  // until when a wheel belongs to the page
    this.listeners = [];
    this.map = new MapPanel();
    this.panels = [new LanesPanel(), new MemoryPanel(), this.map].map((panel) => this.addPanel(panel));
    this.listen();
  }

  addPanel(panel) {
    const base = element("canvas"), over = element("canvas", {className: "over"});
    const box = element("div", {className: "panel"}, base, over);
    box.style.height = panel.height + "px";
    this.host.append(box);
    return {panel, box, base, over, broken: false};
  }

  onSelect(listener) { this.listeners.push(listener); }

  show(view) {
    this.view = view;
    this.axis.setRange(view.first, view.last);
    this.map.low = this.map.high = 0;
    this.hover = null;
    this.fit();
    this.select(null);
    this.resize();
  }

  fit() {
    const margin = 0.03 * this.view.seconds;
    this.axis.show(-margin, this.view.seconds + margin);
    this.map.low = this.map.high = 0;
    this.redraw();
  }

  resize() {
    if (document.documentElement.classList.contains("printing")) return;
    this.axis.setWidth(Math.max(220, this.host.clientWidth || 0));
    this.redraw();
  }

  // Draws at once, as wide as a page and all on one canvas: printed, the upper one's clearing would clear the lower one.
  print() {
    if (!this.view) return;
    this.axis.setWidth(760);
    for (const p of this.panels.filter((q) => !q.broken)) {
      const context = prepareCanvas(p.base, this.axis.width, p.panel.height);
      p.panel.draw(context, this.view, this.axis);
      this.dimNeighbours(context, p.panel.height);
      p.panel.drawOver(context, this.view, this.axis, this.selection, null);
    }
  }

  // Drawing happens once a frame, whatever happened before.
  redraw() {
    this.stale = true;
    this.redrawOver();
  }
  redrawOver() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.drawNow());
  }
  drawNow() {
    this.scheduled = false;
    if (!this.view) return;
    for (const p of this.panels) {
      if (p.broken) continue;
      try {
        if (this.stale) {
          const context = prepareCanvas(p.base, this.axis.width, p.panel.height);
          p.panel.draw(context, this.view, this.axis);
          this.dimNeighbours(context, p.panel.height);
        }
        const over = prepareCanvas(p.over, this.axis.width, p.panel.height);
        p.panel.drawOver(over, this.view, this.axis, this.selection, this.hover);
        this.drawPointer(over, p.panel);
      } catch (error) {
        p.broken = true;
        p.box.append(failure("This picture", error));
      }
    }
    this.stale = false;
  }

  // What belongs to other iterations stays in the background.
  dimNeighbours(context, height) {
    context.fillStyle = colors.card;
    for (const [from, to] of [[this.axis.begin, 0], [this.view.seconds, this.axis.end]]) {
      const x = Math.max(LEFT, this.axis.x(from)), end = Math.min(LEFT + this.axis.plot, this.axis.x(to));
      if (end <= x) continue;
      context.globalAlpha = 0.5;
      context.fillRect(x, LanesPanel.RULER, end - x, height);
      context.globalAlpha = 1;
    }
    context.strokeStyle = colors.text;
    context.setLineDash([2, 3]);
    context.beginPath();
    for (const t of [0, this.view.seconds]) {
      const x = this.axis.x(t);
      if (x < LEFT || x > LEFT + this.axis.plot) continue;
      context.moveTo(x, 8);
      context.lineTo(x, height);
    }
    context.stroke();
    context.setLineDash([]);
  }

  drawPointer(context, panel) {
    if (this.range) {
      const [x, end] = [Math.min(...this.range), Math.max(...this.range)];
      context.fillStyle = colors.accent;
      context.globalAlpha = 0.2;
      context.fillRect(x, 0, end - x, panel.height);
      context.globalAlpha = 1;
    }
    if (!this.pointer || this.pointer.x < LEFT) return;
    context.strokeStyle = colors.muted;
    context.globalAlpha = 0.7;
    context.beginPath();
    context.moveTo(this.pointer.x, 0);
    context.lineTo(this.pointer.x, panel.height);
    context.stroke();
    context.globalAlpha = 1;
  }

  // Pointer, wheel, keys

  listen() {
    const host = this.host;
    this.touches = new Map();
    host.addEventListener("wheel", (e) => this.wheel(e), {passive: false});
    window.addEventListener("wheel", (e) => {
      if (!host.contains(e.target)) this.scrolling = e.timeStamp + 350;
    }, {passive: true});
    host.addEventListener("pointerdown", (e) => this.down(e));
    host.addEventListener("pointermove", (e) => this.moved(e));
    host.addEventListener("pointerup", (e) => this.up(e));
    host.addEventListener("pointercancel", (e) => this.cancel(e));
    host.addEventListener("pointerleave", () => this.leave());
    host.addEventListener("dblclick", (e) => this.zoomToHit(e));
    host.addEventListener("keydown", (e) => this.key(e));
    if (window.ResizeObserver) new ResizeObserver(() => this.resize()).observe(host);
    else window.addEventListener("resize", () => this.resize());
  }

  position(e) {
    const box = this.host.getBoundingClientRect();
    return {x: e.clientX - box.left, y: e.clientY - box.top, pageX: e.clientX, pageY: e.clientY};
  }

  // The page scrolls on when a scroll comes over the panels, and when there is nothing left to zoom out of.
  wheel(e) {
    if (!this.view || e.timeStamp < this.scrolling) {
      this.scrolling = e.timeStamp + 350;
      return;
    }
    const {x, y} = this.position(e), scale = e.deltaMode === 1 ? 20 : e.deltaMode === 2 ? 300 : 1;
    const factor = Math.exp(Math.max(-240, Math.min(240, e.deltaY * scale)) * (e.ctrlKey ? 0.01 : 0.0022));
    let changed;
    if (e.altKey) {
      const box = this.panels[2].box;
      this.map.zoom(this.view, factor, y - box.offsetTop);
      changed = true;
    } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      changed = this.axis.move((e.deltaX || e.deltaY) * scale * this.axis.perPixel);
      changed = changed || e.deltaX !== 0;
    } else {
      changed = this.axis.zoom(factor, this.axis.seconds(Math.max(LEFT, x)));
    }
    if (!changed && !e.ctrlKey) return;
    e.preventDefault();
    this.redraw();
  }

  down(e) {
    if (!this.view || e.button > 0) return;
    const at = this.position(e);
    this.touches.set(e.pointerId, at);
    if (this.touches.size === 2) return this.startPinch();
    const ruler = at.y < LanesPanel.RULER;
    this.drag = {start: at, last: at, select: (e.shiftKey || ruler) && at.x >= LEFT, far: false};
    try {
      this.host.setPointerCapture(e.pointerId);  // so that a drag may leave the panels
    } catch {
      // It then ends at their edge.
    }
  }

  startPinch() {
    const [a, b] = [...this.touches.values()];
    this.drag = this.range = null;
    this.pinch = {a: this.axis.seconds(a.x), b: this.axis.seconds(b.x)};
  }

  moved(e) {
    if (!this.view) return;
    const at = this.position(e);
    this.scrolling = 0;
    if (this.touches.has(e.pointerId)) this.touches.set(e.pointerId, at);
    if (this.touches.size === 2 && this.pinch) return this.movePinch();
    this.pointer = at;
    if (this.drag) {
      this.drag.far = this.drag.far || Math.abs(at.x - this.drag.start.x) + Math.abs(at.y - this.drag.start.y) > 4;
      if (this.drag.select) this.range = [this.drag.start.x, at.x];
      else if (this.drag.far) {
        this.axis.move((this.drag.last.x - at.x) * this.axis.perPixel);
        if (this.drag.start.y >= this.panels[2].box.offsetTop) this.map.move(this.view, at.y - this.drag.last.y);
        this.stale = true;
      }
      this.drag.last = at;
      hideTooltip();
    } else {
      this.hover = this.hitAt(at);
      this.showTooltip(at);
    }
    this.redrawOver();
  }

  movePinch() {
    const [p, q] = [...this.touches.values()], {a, b} = this.pinch;
    if (Math.abs(p.x - q.x) < 12 || a === b) return;
    const perPixel = (b - a) / (q.x - p.x);
    if (!(perPixel > 0)) return;
    const begin = a - (p.x - LEFT) * perPixel;
    this.axis.show(begin, begin + perPixel * this.axis.plot);
    this.redraw();
  }

  up(e) {
    this.touches.delete(e.pointerId);
    this.pinch = null;
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    if (this.range && drag.far) this.axis.show(this.axis.seconds(Math.min(...this.range)), this.axis.seconds(Math.max(...this.range)));
    else if (!drag.far) this.selectHit(this.hitAt(this.position(e)));
    this.range = null;
    this.redraw();
  }

  cancel(e) {
    this.touches.delete(e.pointerId);
    this.drag = this.pinch = this.range = null;
    this.redrawOver();
  }

  leave() {
    this.pointer = this.hover = null;
    hideTooltip();
    this.redrawOver();
  }

  hitAt({x, y}) {
    for (const p of this.panels) {
      const local = y - p.box.offsetTop;
      if (local < 0 || local >= p.panel.height) continue;
      return p.panel.hit(this.view, this.axis, x, local);
    }
    return null;
  }

  showTooltip(at) {
    const lines = this.hover ? describe(this.view, this.hover, this.axis.seconds(at.x)) : null;
    if (lines) showTooltip(lines, at.pageX, at.pageY);
    else hideTooltip();
  }

  key(e) {
    if (!this.view || e.ctrlKey || e.metaKey || e.altKey) return;
    const middle = (this.axis.begin + this.axis.end) / 2, length = this.axis.end - this.axis.begin;
    const actions = {
      "+": () => this.axis.zoom(0.6, middle), "=": () => this.axis.zoom(0.6, middle),
      "-": () => this.axis.zoom(1 / 0.6, middle), "_": () => this.axis.zoom(1 / 0.6, middle),
      ArrowLeft: () => this.axis.move(-0.2 * length), ArrowRight: () => this.axis.move(0.2 * length),
      ArrowUp: () => this.axis.zoom(0.6, middle), ArrowDown: () => this.axis.zoom(1 / 0.6, middle),
      Home: () => this.axis.move(-Infinity), End: () => this.axis.move(Infinity), 0: () => this.fit(),
      n: () => this.step(1), p: () => this.step(-1), s: () => this.nextStall(), Escape: () => this.select(null),
    };
    if (!Object.hasOwn(actions, e.key)) return;
    e.preventDefault();
    actions[e.key]();
    this.redraw();
  }

  // Selection

  select(selection) {
    this.selection = selection;
    for (const listener of this.listeners) listener(selection);
    this.redrawOver();
  }

  selectHit(hit) {
    if (!hit) this.select(null);
    else if (hit.type === "stay" && isWorkspace(this.view, hit.stay)) this.goToReference(this.view.stays.placedBy[hit.stay]);
    else if (hit.type === "stay") this.select({type: "buffer", buffer: this.view.stays.target[hit.stay]});
    else if (hit.type !== "memory") this.select({type: "span", stream: hit.stream, span: hit.span});
  }

  zoomToHit(e) {
    const hit = this.view && this.hitAt(this.position(e));
    if (!hit || hit.span === undefined) return;
    const spans = this.view.spans[hit.stream], begin = spans.begin[hit.span], end = spans.end[hit.span];
    this.axis.show(begin - (end - begin), end + (end - begin));
    this.redraw();
  }

  // Brings a stretch into view: closer when it would be a line, further when it would not fit.
  reveal(begin, end) {
    const length = this.axis.end - this.axis.begin, seconds = end - begin;
    let wanted = length;
    if (seconds < 12 * this.axis.perPixel) wanted = Math.max(seconds * 25, 1e-9);
    if (seconds > 0.7 * length) wanted = seconds * 2;
    if (wanted === length && begin >= this.axis.begin && end <= this.axis.end) return;
    const middle = (begin + end) / 2;
    this.axis.show(middle - wanted / 2, middle + wanted / 2);
    this.redraw();
  }

  goTo(instruction, iteration = 0) {
    const stream = this.view.streamOf(instruction);
    for (const k of [iteration, 0, 1, -1]) {
      const span = this.view.findSpan(instruction, k);
      if (span < 0) continue;
      const spans = this.view.spans[stream];
      this.reveal(spans.begin[span], spans.end[span]);
      this.select({type: "span", stream, span});
      return;
    }
  }

  goToReference(reference) {
    const r = this.view.resolve(reference);
    if (r) this.goTo(r.instruction, r.iteration);
  }

  goToBuffer(buffer) { this.select({type: "buffer", buffer}); }

  goToOp(op) {
    for (let i = 0; i < this.view.count; ++i) {
      if (this.view.kind[i] === RUN && this.view.target[i] === op) return this.goTo(i);
    }
  }

  // The next or previous span on the selected one's stream.
  step(by) {
    const chosen = this.selection && this.selection.type === "span" ? this.selection : null;
    const stream = chosen ? chosen.stream : RUN, spans = this.view.spans[stream];
    const span = chosen ? chosen.span + by : upperBound(spans.end, this.axis.begin);
    if (span < 0 || span >= spans.length) return;
    this.reveal(spans.begin[span], spans.end[span]);
    this.select({type: "span", stream, span});
  }

  nextStall() {
    const {stalls} = this.view;
    if (stalls.length === 0) return;
    const chosen = this.selection && this.selection.type === "span" && this.selection.stream === RUN ? this.selection : null;
    const after = chosen ? this.view.spans[RUN].begin[chosen.span] : -Infinity;
    this.goToStall(stalls.find((s) => s.begin + s.seconds > after + 1e-12) || stalls[0]);
  }

  goToStall(stall) {
    const span = this.view.findSpan(stall.instruction, 0);
    if (span < 0) return;
    this.reveal(stall.begin, stall.begin + stall.seconds);
    this.select({type: "span", stream: RUN, span});
  }
}
