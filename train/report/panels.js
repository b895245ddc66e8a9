// The pictures over one time axis: streams, memory by time, memory by address. Each has two canvases: the picture, and
// over it what follows pointer and selection.

class LanesPanel {
  static RULER = 26;
  static LANES = [{top: 30, height: 46}, {top: 82, height: 30}, {top: 116, height: 30}];
  height = 154;

  draw(context, view, axis) {
    this.drawRuler(context, axis);
    for (let stream = 0; stream < STREAMS.length; ++stream) {
      const lane = LanesPanel.LANES[stream];
      context.fillStyle = colors.muted;
      context.fillText(STREAMS[stream], 4, lane.top + lane.height / 2);
      context.fillStyle = colors.soft;
      context.fillRect(LEFT, lane.top, axis.plot, lane.height);
      if (stream === 0) this.drawStalls(context, view, axis, lane);
      this.drawSpans(context, view, axis, view.spans[stream], lane);
    }
  }

  drawRuler(context, axis) {
    const step = niceStep(axis.end - axis.begin, axis.plot / 110);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const unit = step >= 0.1 ? [1, "s", 0] : step >= 1e-4 ? [1e3, "ms", 3] : step >= 1e-7 ? [1e6, "µs", 6] : [1e9, "ns", 9];
    context.fillStyle = colors.muted;
    context.strokeStyle = colors.line;
    context.beginPath();
    for (let t = Math.ceil(axis.begin / step) * step; t <= axis.end; t += step) {
      const x = axis.x(t);
      context.moveTo(x, 18);
      context.lineTo(x, LanesPanel.RULER);
      const text = (t * unit[0]).toFixed(Math.max(0, digits - unit[2])).replace(/^-(0(\.0*)?)$/, "$1") + " " + unit[1];
      context.fillText(text, Math.min(x + 3, LEFT + axis.plot - 45), 13);
    }
    context.stroke();
    // Where this stretch is in the whole.
    const whole = axis.plot / (axis.last - axis.first);
    context.fillStyle = colors.soft;
    context.fillRect(LEFT, 1, axis.plot, 3);
    context.fillStyle = colors.muted;
    context.fillRect(LEFT + (axis.begin - axis.first) * whole, 1, Math.max(3, (axis.end - axis.begin) * whole), 3);
  }

  drawStalls(context, view, axis, lane) {
    const spans = view.spans[0];
    context.fillStyle = colors.stall;
    for (let s = Math.max(1, upperBound(spans.begin, axis.begin)); s < spans.length && spans.end[s - 1] < axis.end; ++s) {
      const x = Math.max(LEFT, axis.x(spans.end[s - 1])), end = Math.min(LEFT + axis.plot, axis.x(spans.begin[s]));
      if (end - x < 0.4) continue;
      context.globalAlpha = 0.2;
      context.fillRect(x, lane.top, end - x, lane.height);
      context.globalAlpha = 1;
      context.fillRect(x, lane.top + lane.height - 4, end - x, 4);
    }
  }

  // Spans narrower than a pixel share its column: the more of it they fill, the stronger.
  drawSpans(context, view, axis, spans, lane) {
    const base = spans.stream === SWAP_IN ? colors.in : spans.stream === SWAP_OUT ? colors.out : colors.run;
    const right = LEFT + axis.plot;
    let column = -1, filled = 0, filledAgain = 0;
    const flush = () => {
      if (filled + filledAgain > 0) {
        context.globalAlpha = Math.min(1, 0.15 + 0.85 * (filled + filledAgain));
        context.fillStyle = filledAgain > filled ? colors.again : base;
        context.fillRect(column, lane.top, 1, lane.height);
      }
      filled = filledAgain = 0;
    };
    for (let s = upperBound(spans.end, axis.begin); s < spans.length && spans.begin[s] < axis.end; ++s) {
      const x = Math.max(LEFT, axis.x(spans.begin[s])), end = Math.min(right, axis.x(spans.end[s]));
      const again = view.again[spans.instruction[s]] === 1;
      if (end - x < 1.5) {
        if (Math.floor(x) !== column) {
          flush();
          column = Math.floor(x);
        }
        if (again) filledAgain += Math.max(end - x, 0.05);
        else filled += Math.max(end - x, 0.05);
        continue;
      }
      flush();
      this.drawSpan(context, view, spans, s, x, end, lane, again ? colors.again : base, again);
    }
    flush();
    context.globalAlpha = 1;
  }

  drawSpan(context, view, spans, s, x, end, lane, color, again) {
    const target = view.target[spans.instruction[s]];
    const shade = spans.stream === RUN ? view.graph.ops.type[target] : target;
    context.globalAlpha = 0.72 + 0.07 * (shade % 5);
    context.fillStyle = color;
    const width = end - x - (end - x > 3 ? 0.6 : 0);
    context.fillRect(x, lane.top, width, lane.height);
    context.globalAlpha = 1;
    if (again && width > 5) {  // not by colour alone
      context.strokeStyle = colors.card;
      context.beginPath();
      for (let h = 4; h < width - 2 && h < 2000; h += 7) {
        context.moveTo(x + h, lane.top + lane.height - 1);
        context.lineTo(x + Math.min(width, h + 5), lane.top + lane.height - 7);
      }
      context.stroke();
    }
    if (width < 28) return;
    const name = spans.stream === RUN ? view.opName(target) : view.bufferName(target);
    context.fillStyle = "#fff";
    const text = fitText(context, name, width - 8);
    const two = spans.stream === RUN && text !== "" && width > 60;
    context.fillText(text, x + 4, lane.top + lane.height / 2 - (two ? 8 : 0));
    if (two) {
      context.globalAlpha = 0.8;
      context.fillText(fitText(context, formatSeconds(spans.end[s] - spans.begin[s]), width - 8), x + 4, lane.top + lane.height / 2 + 8);
      context.globalAlpha = 1;
    }
  }

  // A stall or a span under the pointer.
  hit(view, axis, x, y) {
    const stream = LanesPanel.LANES.findIndex((lane) => y >= lane.top && y < lane.top + lane.height);
    if (stream < 0 || x < LEFT) return null;
    const spans = view.spans[stream], t = axis.seconds(x);
    const s = upperBound(spans.end, t);
    if (s < spans.length && spans.begin[s] <= t) return {type: "span", stream, span: s};
    let best = null, distance = 3;  // pixels
    for (const near of [s - 1, s]) {
      if (near < 0 || near >= spans.length) continue;
      const d = Math.min(Math.abs(axis.x(spans.begin[near]) - x), Math.abs(axis.x(spans.end[near]) - x));
      if (d < distance) [best, distance] = [near, d];
    }
    const gap = stream === RUN && s > 0 && s < spans.length;
    if (gap && axis.x(spans.begin[s]) - axis.x(spans.end[s - 1]) > 4) return {type: "stall", stream, span: s};
    return best === null ? null : {type: "span", stream, span: best};
  }

  outline(context, view, axis, stream, s, color) {
    const lane = LanesPanel.LANES[stream], spans = view.spans[stream];
    const x = Math.max(LEFT, axis.x(spans.begin[s])), end = Math.min(LEFT + axis.plot, axis.x(spans.end[s]));
    if (end < LEFT || x > LEFT + axis.plot) return;
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.strokeRect(x - 1, lane.top - 1, Math.max(2, end - x + 1), lane.height + 2);
    context.lineWidth = 1;
  }

  drawOver(context, view, axis, selection, hover) {
    if (hover && hover.type !== "stay" && hover.stream !== undefined && hover.type === "span")
      this.outline(context, view, axis, hover.stream, hover.span, colors.muted);
    if (!selection || selection.type !== "span") return;
    this.outline(context, view, axis, selection.stream, selection.span, colors.text);
    this.drawBlocker(context, view, axis, selection);
  }

  // From the end of what the selected one waited for to its own begin.
  drawBlocker(context, view, axis, selection) {
    const spans = view.spans[selection.stream];
    const blocker = view.resolve(spans.blocker[selection.span]);
    if (!blocker) return;
    const stream = view.streamOf(blocker.instruction), s = view.findSpan(blocker.instruction, blocker.iteration);
    if (s < 0) return;
    this.outline(context, view, axis, stream, s, colors.accent);
    const from = LanesPanel.LANES[stream], to = LanesPanel.LANES[selection.stream];
    context.strokeStyle = colors.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(axis.x(view.spans[stream].end[s]), from.top + from.height / 2);
    context.lineTo(axis.x(spans.begin[selection.span]), to.top + to.height / 2);
    context.stroke();
    context.lineWidth = 1;
  }
}

class MemoryPanel {
  height = 150;

  top(view) {
    const limit = view.plan.device.memory_bytes;
    const peak = view.memory.length ? Math.max(...[0, view.memory.peak, this.highest(view)]) : 0;
    return limit && limit < 2 * peak ? Math.max(limit, peak) * 1.08 : Math.max(1, peak * 1.08);
  }

  highest(view) {
    if (view.highest === undefined) {
      view.highest = 0;
      for (const total of view.memory.level[OCCUPANTS.length - 1]) view.highest = Math.max(view.highest, total);
    }
    return view.highest;
  }

  draw(context, view, axis) {
    const top = this.top(view), height = this.height - 12;
    const y = (bytes) => 6 + height * (1 - bytes / top);
    context.fillStyle = colors.text;
    context.fillText("in use", 4, 14);
    this.drawScale(context, axis, top, y);
    this.drawColumns(context, view, axis, y);
  }

  // Over the picture: it must be seen wherever the memory is full.
  drawOver(context, view, axis) {
    const limit = view.plan.device.memory_bytes, top = this.top(view);
    if (!limit) return;
    const y = 6 + (this.height - 12) * (1 - limit / top), inside = limit <= top;
    context.strokeStyle = colors.bad;
    if (inside) {
      context.setLineDash([6, 4]);
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(LEFT + axis.plot, y);
      context.stroke();
      context.setLineDash([]);
    }
    const text = "limit " + formatBytes(limit) + (inside ? "" : " ↑");
    const width = context.measureText(text).width, where = inside ? Math.min(y + 11, this.height - 8) : 14;
    context.fillStyle = colors.card;
    context.globalAlpha = 0.85;
    context.fillRect(LEFT + axis.plot - width - 10, where - 7, width + 8, 15);
    context.globalAlpha = 1;
    context.fillStyle = colors.bad;
    context.fillText(text, LEFT + axis.plot - width - 6, where);
  }

  drawScale(context, axis, top, y) {
    const step = niceBytes(top, 3);
    context.strokeStyle = colors.line;
    context.fillStyle = colors.muted;
    context.beginPath();
    for (let bytes = 0; bytes <= top; bytes += step) {
      context.moveTo(LEFT, y(bytes));
      context.lineTo(LEFT + axis.plot, y(bytes));
      if (bytes > 0 && y(bytes) > 30) context.fillText(formatBytes(bytes), 4, y(bytes));
    }
    context.stroke();
  }

  // Each column of pixels shows its fullest moment.
  drawColumns(context, view, axis, y) {
    const {time, level, length} = view.memory, total = level[OCCUPANTS.length - 1];
    if (length === 0) return;
    let from = LEFT, shown = -1, next = Math.max(0, upperBound(time, axis.begin) - 1);
    const flush = (to) => {
      if (shown < 0) return;
      let below = y(0);
      for (let o = 0; o < OCCUPANTS.length; ++o) {
        const above = y(level[o][shown]);
        if (below - above > 0.05) {
          context.fillStyle = colors[OCCUPANTS[o]];
          context.fillRect(from, above, to - from, below - above);
        }
        below = above;
      }
    };
    for (let x = LEFT; x < LEFT + axis.plot; ++x) {
      const end = axis.seconds(x + 1);
      let best = next;
      while (next + 1 < length && time[next + 1] < end) if (total[++next] > total[best]) best = next;
      if (best === shown) continue;
      flush(x);
      from = x;
      shown = best;
    }
    flush(LEFT + axis.plot);
  }

  hit(view, axis, x) {
    const point = upperBound(view.memory.time, axis.seconds(x)) - 1;
    return x < LEFT || point < 0 ? null : {type: "memory", point};
  }
}
