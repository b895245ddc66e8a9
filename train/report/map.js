// What is too small to be a rectangle of its own: how much of each pixel each kind of occupant covers. Adding costs the
// same for long and short ones: a row holds differences, summed up when it is painted.
class Coverage {
  constructor(width, height) {
    this.width = Math.max(1, Math.ceil(width));
    this.height = height;
    this.changes = OCCUPANTS.map(() => null);
    this.used = OCCUPANTS.map(() => false);
    this.canvas = element("canvas");
    this.canvas.width = this.width;
    this.canvas.height = height;
    this.image = this.canvas.getContext("2d").createImageData(this.width, height);
  }

  add(occupant, x, end, above, below) {
    const stride = this.width + 2;
    const changes = this.changes[occupant] = this.changes[occupant] || new Float32Array(stride * this.height);
    this.used[occupant] = true;
    const first = Math.floor(x), past = Math.floor(end);
    for (let row = Math.max(0, Math.floor(above)); row < below && row < this.height; ++row) {
      const share = Math.min(below, row + 1) - Math.max(above, row), at = row * stride;
      changes[at + first] += share * (1 - (x - first));
      changes[at + first + 1] += share * (x - first);
      changes[at + past] -= share * (1 - (end - past));
      changes[at + past + 1] -= share * (end - past);
    }
  }

  // Paints, and forgets what was added.
  paint(context, left, top) {
    const {data} = this.image;
    data.fill(0);
    let any = false;
    this.used.forEach((used, occupant) => {
      if (!used) return;
      this.blend(data, this.changes[occupant], toRgb(colors[OCCUPANTS[occupant]]));
      this.changes[occupant].fill(0);
      this.used[occupant] = false;
      any = true;
    });
    if (!any) return;
    this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    context.drawImage(this.canvas, left, top, this.width, this.height);
  }

  // Adds one colour; `data` has colours and, as alpha, what they cover together.
  blend(data, changes, [red, green, blue]) {
    for (let row = 0; row < this.height; ++row) {
      let sum = 0;
      for (let x = 0, from = row * (this.width + 2), to = 4 * row * this.width; x < this.width; ++x, ++from, to += 4) {
        sum += changes[from];
        const alpha = 217 * Math.min(1, sum);
        if (alpha < 1) continue;
        const before = data[to + 3], part = alpha / (alpha + before);
        data[to] += (red - data[to]) * part;
        data[to + 1] += (green - data[to + 1]) * part;
        data[to + 2] += (blue - data[to + 2]) * part;
        data[to + 3] = Math.min(217, before + alpha);
      }
    }
  }
}

function toRgb(color) {
  const digits = /^#([0-9a-f]{6})$/i.exec(color);
  const value = digits ? parseInt(digits[1], 16) : 0x888888;
  return [value >> 16, value >> 8 & 255, value & 255];
}

// Time by address: a rectangle for each stay of a buffer in one place.
class MapPanel {
  height = 300;
  low = 0;
  high = 0;  // shown addresses; 0: all

  range(view) {
    const whole = Math.max(1, view.plan.arena_bytes, view.plan.predicted.peak_bytes);
    return this.high > this.low ? [this.low, Math.min(this.high, whole), whole] : [0, whole, whole];
  }
  y(view) {
    const [low, high] = this.range(view), height = this.height - 12;
    return (address) => 6 + height * (1 - (address - low) / (high - low));
  }
  address(view, y) {
    const [low, high] = this.range(view);
    return low + (1 - (y - 6) / (this.height - 12)) * (high - low);
  }
  zoom(view, factor, y) {
    const [low, high, whole] = this.range(view), around = this.address(view, y);
    this.low = Math.max(0, around - (around - low) * factor);
    this.high = Math.min(whole, around + (high - around) * factor);
    if (this.high - this.low >= whole || this.high - this.low < 1024) this.low = this.high = 0;
  }
  move(view, pixels) {
    const [low, high, whole] = this.range(view);
    if (high - low >= whole) return;
    const by = Math.min(Math.max(pixels * (high - low) / (this.height - 12), -low), whole - high);
    this.low = low + by;
    this.high = high + by;
  }

  // Rectangles by colour, so that it seldom changes.
  order(view) {
    if (!view.stayOrder) {
      view.stayOrder = Array.from({length: view.stays.length}, (_, s) => s);
      view.stayOrder.sort((a, b) => view.stays.occupant[a] - view.stays.occupant[b] || a - b);
    }
    return view.stayOrder;
  }

  draw(context, view, axis) {
    const [low, high] = this.range(view), y = this.y(view), stays = view.stays;
    const bottom = this.height - 6;
    context.fillStyle = colors.text;
    context.fillText("addresses", 4, 14);
    this.drawScale(context, low, high, y);
    context.fillStyle = colors.soft;
    context.fillRect(LEFT, 6, axis.plot, bottom - 6);
    context.save();
    context.beginPath();
    context.rect(LEFT, 6, axis.plot, bottom - 6);
    context.clip();
    if (!this.coverage || this.coverage.width !== Math.ceil(axis.plot)) this.coverage = new Coverage(axis.plot, bottom - 6);
    const labels = [], small = this.coverage, inside = axis.x(0);
    for (const s of this.order(view)) {
      if (stays.end[s] <= axis.begin || stays.begin[s] >= axis.end) continue;
      const above = y(stays.offset[s] + stays.bytes[s]), below = y(stays.offset[s]);
      if (below < 6 || above > bottom) continue;
      const x = Math.max(LEFT, axis.x(stays.begin[s])), end = Math.min(LEFT + axis.plot, axis.x(stays.end[s]));
      let width = end - x, height = below - above;
      if (width < 1.5 || height < 1.5) {
        small.add(stays.occupant[s], x - LEFT, end - LEFT, Math.max(6, above) - 6, Math.min(bottom, below) - 6);
        continue;
      }
      context.fillStyle = colors[OCCUPANTS[stays.occupant[s]]];
      context.globalAlpha = 0.66 + 0.085 * (stays.target[s] % 5);
      if (width > 3) width -= 0.6;
      if (height > 3) height -= 0.6;
      context.fillRect(x, below - height, width, height);
      const from = x < inside && end > inside ? inside : x;  // where it is not dimmed
      if (end - from > 44 && height > 13 && labels.length < 400) labels.push([s, from, (above + below) / 2, end - from]);
    }
    context.globalAlpha = 1;
    small.paint(context, LEFT, 6);
    context.fillStyle = "#fff";
    context.shadowColor = "#0008";
    context.shadowBlur = 2;
    for (const [s, x, middle, width] of labels) {
      context.fillText(fitText(context, stayName(view, s), width - 8), x + 4, Math.min(Math.max(middle, 13), bottom - 7));
    }
    context.restore();
  }

  drawScale(context, low, high, y) {
    const step = niceBytes(high - low, 5);
    context.fillStyle = colors.muted;
    for (let bytes = Math.ceil(low / step) * step; bytes <= high; bytes += step) {
      if (y(bytes) > 30 && y(bytes) < this.height - 4) context.fillText(formatBytes(bytes), 4, y(bytes));
    }
  }

  hit(view, axis, x, y) {
    if (x < LEFT) return null;
    const t = axis.seconds(x), address = this.address(view, y), stays = view.stays;
    for (let s = 0; s < stays.length && stays.begin[s] <= t; ++s) {
      if (stays.end[s] > t && stays.offset[s] <= address && stays.offset[s] + stays.bytes[s] > address) return {type: "stay", stay: s};
    }
    return null;
  }

  outline(context, view, axis, s, color) {
    const y = this.y(view), stays = view.stays;
    if (stays.end[s] < axis.begin || stays.begin[s] > axis.end) return;
    const x = Math.max(LEFT, axis.x(stays.begin[s])), end = Math.min(LEFT + axis.plot, axis.x(stays.end[s]));
    const above = y(stays.offset[s] + stays.bytes[s]), below = y(stays.offset[s]);
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.strokeRect(x, above, Math.max(2, end - x), Math.max(2, below - above));
    context.lineWidth = 1;
  }

  drawOver(context, view, axis, selection, hover) {
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, axis.plot, this.height);
    context.clip();
    for (const s of selectedStays(view, selection)) this.outline(context, view, axis, s, colors.text);
    if (hover && hover.type === "stay") this.outline(context, view, axis, hover.stay, colors.muted);
    context.restore();
  }
}

function isWorkspace(view, s) { return view.stays.occupant[s] === OCCUPANTS.length - 1; }

function stayName(view, s) {
  const target = view.stays.target[s];
  return isWorkspace(view, s) ? "workspace of " + view.opName(target) : view.bufferName(target);
}

// Stays of the buffers that the selection is about. An op: its operands, while it runs.
function selectedStays(view, selection) {
  if (!selection) return [];
  const found = [], {stays} = view;
  if (selection.type === "buffer") {
    for (let s = 0; s < stays.length; ++s) if (!isWorkspace(view, s) && stays.target[s] === selection.buffer) found.push(s);
    return found;
  }
  const spans = view.spans[selection.stream], s0 = selection.span, target = view.target[spans.instruction[s0]];
  const run = selection.stream === RUN, {inputs, outputs} = view.graph.ops;
  const buffers = new Set(run ? [...inputs[target], ...outputs[target]] : [target]);
  const begin = spans.begin[s0], end = spans.end[s0];
  for (let s = 0; s < stays.length && stays.begin[s] <= end; ++s) {
    if (stays.end[s] < begin || (run && (stays.begin[s] >= end || stays.end[s] <= begin) && end > begin)) continue;
    if (isWorkspace(view, s) ? run && stays.target[s] === target : buffers.has(stays.target[s])) found.push(s);
  }
  return found;
}
