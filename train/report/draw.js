// What all pictures share: colours from the style sheet, elements, the time axis.

const colors = {};

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["page", "card", "text", "muted", "line", "soft", "accent", "bad", "good", "run", "again", "in", "out",
                      "stall", ...OCCUPANTS]) {
    colors[name] = style.getPropertyValue("--" + name).trim() || "#888";
  }
}

// An element with text or children. Everything from the plan goes through here, as text, never as HTML.
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((c) => c !== null && c !== undefined));
  return made;
}

function failure(what, error) {
  console.error(error);
  return element("p", {className: "failure"}, `${what} could not be shown: ${error && error.message || error}`);
}

const LEFT = 84, RIGHT = 10;  // pixels beside the plot of each panel: labels, air

class TimeAxis {
  constructor() {
    this.setRange(0, 1);
    this.setWidth(800);
  }
  setRange(first, last) {
    this.first = first;
    this.last = last;
    this.begin = first;
    this.end = last;
    this.perPixel = (last - first) / this.plot;
  }
  setWidth(width) {
    this.width = width;
    this.plot = Math.max(1, width - LEFT - RIGHT);
    this.perPixel = (this.end - this.begin) / this.plot;
  }
  x(seconds) { return LEFT + (seconds - this.begin) / this.perPixel; }
  seconds(x) { return this.begin + (x - LEFT) * this.perPixel; }

  // Returns whether anything changed.
  show(begin, end) {
    const whole = this.last - this.first;
    const length = Math.min(whole, Math.max(end - begin, whole * 1e-7, 1e-9));
    const middle = (begin + end) / 2;
    begin = Math.min(Math.max(middle - length / 2, this.first), this.last - length);
    const changed = begin !== this.begin || begin + length !== this.end;
    this.begin = begin;
    this.end = begin + length;
    this.perPixel = length / this.plot;
    return changed;
  }
  zoom(factor, around) {
    return this.show(around - (around - this.begin) * factor, around + (this.end - around) * factor);
  }
  move(seconds) {
    const length = this.end - this.begin;
    const begin = Math.min(Math.max(this.begin + seconds, this.first), this.last - length);
    return this.show(begin, begin + length);
  }
}

// Round steps of about `count` parts.
function niceStep(length, count) {
  const rough = length / count, power = 10 ** Math.floor(Math.log10(rough));
  for (const step of [1, 2, 5]) if (step * power >= rough) return step * power;
  return 10 * power;
}

function niceBytes(length, count) {
  let unit = 1;
  while (unit * 1024 <= length / count) unit *= 1024;
  for (let step = unit; ; step *= 2) if (step >= length / count) return step;
}

// `text` cut to `width` pixels; empty if too little would be left.
function fitText(context, text, width) {
  if (width < 28) return "";
  const letter = context.letterWidth;
  const room = Math.floor(width / letter);
  if (text.length <= room) return text;
  return room >= 5 ? text.slice(0, room - 1) + "…" : "";
}

const FONT = '11.5px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

// A canvas in device pixels, drawn on in CSS pixels.
function prepareCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.globalAlpha = 1;
  context.font = FONT;
  context.textBaseline = "middle";
  context.textAlign = "left";
  if (!context.letterWidth) context.letterWidth = context.measureText("abcdefgh_0123.").width / 14 || 6.5;
  return context;
}
