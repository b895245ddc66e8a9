// What is said of the thing under the pointer (tooltip) and of the selected one (inspector).

function showTooltip(lines, x, y) {
  const tip = document.getElementById("tooltip");
  tip.replaceChildren(element("b", {}, lines[0]), ...lines.slice(1).map((line) => element("div", {}, line)));
  tip.hidden = false;
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = Math.max(4, x + 16 + width > window.innerWidth ? x - width - 12 : x + 16) + "px";
  tip.style.top = Math.max(4, y + 18 + height > window.innerHeight ? y - height - 12 : y + 18) + "px";
}

function hideTooltip() { document.getElementById("tooltip").hidden = true; }

// Lines of a tooltip; null for none.
function describe(view, hit, seconds) {
  if (hit.type === "span") return describeSpan(view, hit.stream, hit.span);
  if (hit.type === "stall") return describeStall(view, hit.span);
  if (hit.type === "stay") return describeStay(view, hit.stay);
  if (hit.type === "memory") return describeMemory(view, hit.point, seconds);
  return null;
}

function when(begin, end) { return `starts at ${formatSeconds(begin)}, takes ${formatSeconds(end - begin)}`; }

function describeSpan(view, stream, s) {
  const spans = view.spans[stream], i = spans.instruction[s], target = view.target[i], k = spans.iteration[s];
  const lines = [view.nameOf(i) + whichIteration(k)];
  if (stream === RUN) lines.push(view.opType(target) + (view.again[i] ? ", recomputed" : ""));
  else lines.push(`${view.bufferKind(target)}, ${formatBytes(view.bufferBytes(target))}` + speedOf(view, stream, s));
  lines.push(when(spans.begin[s], spans.end[s]));
  if (stream === RUN && view.graph.ops.workspace[target]) lines.push(formatBytes(view.graph.ops.workspace[target]) + " workspace");
  const waited = waitOf(view, stream, s);
  if (waited) lines.push(plain(waited));
  if (stream !== RUN) lines.push(plain(whyCopied(view, i, k)));
  return lines;
}

function speedOf(view, stream, s) {
  const spans = view.spans[stream], seconds = spans.end[s] - spans.begin[s];
  return seconds > 0 ? " at " + formatRate(view.bufferBytes(view.target[spans.instruction[s]]) / seconds) : "";
}

// What a span waited for while its stream was idle.
function waitOf(view, stream, s) {
  const spans = view.spans[stream];
  if (spans.blocker[s] === NONE) return null;
  const words = mention(view, spans.blocker[s], spans.iteration[s]);
  const idle = s > 0 ? spans.begin[s] - spans.end[s - 1] : 0;
  return idle > 0 ? [`after ${formatSeconds(idle)} without work, waited for `, ...words] : ["waited for ", ...words];
}

function stallOf(view, s) {
  const spans = view.spans[RUN];
  return spans.iteration[s] !== 0 ? null : view.stalls.find((stall) => stall.instruction === spans.instruction[s]) || null;
}

function describeStall(view, s) {
  const spans = view.spans[RUN], stall = stallOf(view, s);
  const lines = ["compute waits " + formatSeconds(spans.begin[s] - spans.end[s - 1]), "before " + view.nameOf(spans.instruction[s])];
  const why = stall ? whyStalled(view, stall) : waitOf(view, RUN, s);
  if (why) lines.push(plain(why));
  return lines;
}

function describeStay(view, s) {
  const {stays} = view, target = stays.target[s];
  const lines = [stayName(view, s)];
  lines.push(`${OCCUPANTS[stays.occupant[s]]}, ${formatBytes(stays.bytes[s])} at ${stays.offset[s].toLocaleString("en")}`);
  const begins = stays.begin[s] > view.first, ends = stays.end[s] < view.last;
  lines.push(`${begins ? "from " + formatSeconds(stays.begin[s]) : "from before"} ${ends ? "to " + formatSeconds(stays.end[s]) : "on"}`);
  if (begins && stays.placedBy[s] !== NONE) lines.push("put there by " + plain(mention(view, stays.placedBy[s])));
  if (ends && stays.takenBy[s] !== NONE && !isWorkspace(view, s)) lines.push("then " + plain(whyEvicted(view, stays.takenBy[s], target, 0)));
  return lines;
}

function describeMemory(view, point, seconds) {
  const {level} = view.memory, lines = [];
  for (let o = OCCUPANTS.length - 1; o >= 0; --o) {
    const bytes = level[o][point] - (o > 0 ? level[o - 1][point] : 0);
    if (bytes > 0) lines.push(`${OCCUPANTS[o]} ${formatBytes(bytes)}`);
  }
  return [`${formatBytes(level[OCCUPANTS.length - 1][point])} in use at ${formatSeconds(seconds)}`, ...lines];
}

class Inspector {
  constructor(explorer) {
    this.explorer = explorer;
    this.host = document.getElementById("inspector");
    explorer.onSelect((selection) => this.show(selection));
  }

  show(selection) {
    if (!this.explorer.view) return;
    try {
      this.host.replaceChildren(...(selection === null ? [element("span", {className: "muted"}, "Nothing selected: click an op, a copy or a buffer.")]
                                    : selection.type === "buffer" ? this.buffer(selection.buffer) : this.span(selection)));
    } catch (error) {
      this.host.replaceChildren(failure("The selection", error));
    }
  }

  // Words with their links.
  sentence(words) {
    return words.map((w) => typeof w === "string" ? w : linkTo(w.text, () => this.explorer.goTo(w.to.instruction, w.to.iteration)));
  }

  list(rows) {
    const list = element("dl");
    for (const [term, ...content] of rows) list.append(element("dt", {}, term), element("dd", {}, ...content));
    return list;
  }

  buffers(indices) {
    const view = this.explorer.view, most = 12, words = [];
    indices.slice(0, most).forEach((b, n) => {
      if (n) words.push(", ");
      words.push(linkTo(view.bufferName(b), () => this.explorer.goToBuffer(b)), ` (${view.bufferKind(b)}, ${formatBytes(view.bufferBytes(b))})`);
    });
    if (indices.length > most) words.push(` and ${indices.length - most} more`);
    return words.length ? words : ["nothing"];
  }

  span({stream, span}) {
    const view = this.explorer.view, spans = view.spans[stream], i = spans.instruction[span], target = view.target[i];
    const k = spans.iteration[span], rows = [];
    rows.push(["time", when(spans.begin[span], spans.end[span]) + whichIteration(k)]);
    if (stream === RUN) {
      const {inputs, outputs, workspace} = view.graph.ops;
      rows.push(["type", view.opType(target)]);
      const stall = stallOf(view, span);
      if (stall) rows.push(["stall", formatSeconds(stall.seconds) + ": ", ...this.sentence(whyStalled(view, stall))]);
      rows.push(["reads", ...this.buffers(inputs[target])], ["writes", ...this.buffers(outputs[target])]);
      if (workspace[target]) rows.push(["workspace", formatBytes(workspace[target])]);
      const reader = mention(view, shifted(view, view.nextReader[i], k), k);
      if (view.again[i]) rows.push(["runs again for", ...(reader.length ? this.sentence(reader) : ["nothing"])]);
      else if (reader.length) rows.push(["first reader", ...this.sentence(reader)]);
    } else {
      rows.push(["buffer", ...this.buffers([target]), speedOf(view, stream, span)]);
      const waited = waitOf(view, stream, span);
      if (waited) rows.push(["wait", ...this.sentence(waited)]);
      rows.push(["why", ...this.sentence(whyCopied(view, i, k))]);
    }
    return [element("h3", {}, view.nameOf(i)), this.list(rows)];
  }

  buffer(buffer) {
    const view = this.explorer.view, {inputs, outputs} = view.graph.ops, events = [];
    for (let i = 0; i < view.count; ++i) {
      const target = view.target[i], stream = view.kind[i], span = view.findSpan(i, 0);
      if (span < 0) continue;
      let what = null;
      if (stream !== RUN) what = target === buffer ? (stream === SWAP_IN ? "swapped in" : "swapped out") : null;
      else if (outputs[target].includes(buffer)) what = inputs[target].includes(buffer) ? "updated by" : view.again[i] ? "made again by" : "written by";
      else if (inputs[target].includes(buffer)) what = "read by";
      if (what) events.push({begin: view.spans[stream].begin[span], what, instruction: i, stream});
    }
    events.sort((a, b) => a.begin - b.begin);
    const most = 40;
    const rows = events.slice(0, most).map((e) => [formatSeconds(e.begin), e.what + " ",
      ...(e.stream === RUN ? this.sentence([{to: {instruction: e.instruction, iteration: 0}, text: view.nameOf(e.instruction)}])
          : [linkTo("copy", () => this.explorer.goTo(e.instruction)), ": ", ...this.sentence(whyCopied(view, e.instruction))])]);
    if (events.length > most) rows.push(["…", `and ${events.length - most} more`]);
    if (events.length === 0) rows.push(["", "not used in an iteration"]);
    return [element("h3", {}, view.bufferName(buffer), " ", element("span", {className: "muted"}, `${view.bufferKind(buffer)}, ${formatBytes(view.bufferBytes(buffer))}`)),
            this.list(rows)];
  }
}

function linkTo(text, action) {
  const link = element("button", {type: "button", className: "link"}, text);
  link.addEventListener("click", action);
  return link;
}
