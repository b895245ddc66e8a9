// Tables: sortable, the first rows shown, the rest summed.

const FIRST_ROWS = 15;

// `columns`: {title, number?, sum?, value(row), show?(row, value)}; `show` gives nodes. `go`: what a click on a row does.
class SortedTable {
  constructor(host, columns, rows, {sortBy, descending = true, go = null, bestRow = null}) {
    Object.assign(this, {host, columns, rows: [...rows], go, bestRow, most: FIRST_ROWS});
    this.sortBy = sortBy;
    this.descending = descending;
    this.draw();
  }

  sorted() {
    if (this.sortBy === null) return this.rows;
    const {value} = this.columns[this.sortBy], sign = this.descending ? -1 : 1;
    return this.rows.map((row, at) => [value(row), at, row]).sort(([a, i], [b, j]) => {
      const order = typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b;
      return order ? sign * order : i - j;
    }).map(([, , row]) => row);
  }

  draw() {
    const rows = this.sorted(), shown = rows.slice(0, this.most), rest = rows.slice(this.most);
    const body = element("tbody", {}, ...shown.map((row) => this.row(row)));
    if (rest.length) body.append(this.sumOf(rest));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...this.columns.map((c, at) => this.head(c, at)))), body);
    const parts = [element("div", {className: "table"}, table)];
    if (rest.length) parts.push(this.more(`Show ${Math.min(rest.length, 500)} more`, this.most + 500));
    else if (rows.length > FIRST_ROWS) parts.push(this.more("Show fewer", FIRST_ROWS));
    this.host.replaceChildren(...parts);
  }

  more(text, most) {
    const button = element("button", {type: "button"}, text);
    button.addEventListener("click", () => { this.most = most; this.draw(); });
    return element("div", {className: "more"}, button);
  }

  head(column, at) {
    const head = element("th", {scope: "col", className: column.number ? "number" : ""});
    const button = element("button", {type: "button"}, column.title);
    if (at === this.sortBy) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
    button.addEventListener("click", () => {
      this.descending = at === this.sortBy ? !this.descending : Boolean(column.number);
      this.sortBy = at;
      this.draw();
      this.host.querySelectorAll("th button")[at].focus();
    });
    head.append(button);
    return head;
  }

  row(row) {
    return element("tr", {className: this.bestRow === row ? "best" : ""}, ...this.columns.map((column, at) => {
      const value = column.value(row);
      const content = column.show ? column.show(row, value) : [String(value)];
      const cell = element("td", {className: column.number ? "number" : column.className || ""});
      cell.append(...(at === 0 && this.go && this.go(row) ? [linkTo(plain(content), this.go(row))] : content));
      return cell;
    }));
  }

  sumOf(rest) {
    return element("tr", {className: "rest"}, ...this.columns.map((column, at) => {
      const cell = element("td", {className: column.number ? "number" : ""});
      if (at === 0) cell.append(`${rest.length.toLocaleString("en")} more`);
      else if (column.sum) cell.append(column.sum(rest.reduce((sum, row) => sum + column.value(row), 0)));
      return cell;
    }));
  }
}

const inSeconds = (title, value) => ({title, number: true, value, sum: formatSeconds, show: (row, v) => [formatSeconds(v)]});
const inBytes = (title, value) => ({title, number: true, value, sum: formatBytes, show: (row, v) => [formatBytes(v)]});

function drawStalls(host, view, explorer) {
  const total = view.stalls.reduce((sum, s) => sum + s.seconds, 0);
  if (view.stalls.length === 0) return host.replaceChildren(element("p", {}, "Nowhere: the compute stream never waits for a copy."));
  const link = view.stalls.reduce((sum, s) => sum + (s.behindLink ? s.seconds : 0), 0);
  const table = element("div");
  new SortedTable(table, [
    {title: "op", className: "name", value: (s) => view.nameOf(s.instruction)},
    {title: "at", number: true, value: (s) => s.begin, show: (s, v) => [formatSeconds(v)]},
    inSeconds("waits", (s) => s.seconds),
    {title: "of all waits", number: true, value: (s) => s.seconds, sum: (v) => percent(v / total), show: (s, v) => [percent(v / total)]},
    {title: "cause", className: "short", value: (s) => s.behindLink ? "busy link" : "late start"},
    {title: "why", className: "why", value: (s) => plain(whyStalled(view, s)), show: (s) => explorer.inspector.sentence(whyStalled(view, s))},
  ], view.stalls, {sortBy: 2, go: (s) => () => toTimeline(() => explorer.goToStall(s))});
  host.replaceChildren(element("p", {}, `${plural(view.stalls.length, "wait")}, ${formatSeconds(total)} in one iteration (${percent(total / view.seconds)} of it): ` +
      `${formatSeconds(link)} for copies that queued behind others (busy link), ${formatSeconds(total - link)} for copies that could not start earlier (late start).`), table);
}

// By buffer: what one iteration copies.
function swappedBuffers(view) {
  const rows = new Map();
  for (let i = 0; i < view.count; ++i) {
    if (view.kind[i] === RUN) continue;
    const buffer = view.target[i], span = view.findSpan(i, 0);
    if (!rows.has(buffer)) rows.set(buffer, {buffer, ins: 0, outs: 0, seconds: 0, out: NONE, in: NONE});
    const row = rows.get(buffer), spans = view.spans[view.kind[i]];
    if (view.kind[i] === SWAP_IN) row.in = ++row.ins === 1 ? i : row.in;
    else row.out = ++row.outs === 1 ? i : row.out;
    if (span >= 0) row.seconds += spans.end[span] - spans.begin[span];
  }
  return [...rows.values()];
}

function drawSwaps(host, view, explorer) {
  const rows = swappedBuffers(view);
  if (rows.length === 0) return host.replaceChildren(element("p", {}, "Nothing: no buffer leaves the device."));
  const bytes = (row) => view.bufferBytes(row.buffer);
  const why = (row) => row.out !== NONE ? whyCopied(view, row.out) : whyCopied(view, row.in);
  new SortedTable(host, [
    {title: "buffer", className: "name", value: (r) => view.bufferName(r.buffer)},
    {title: "kind", value: (r) => view.bufferKind(r.buffer)},
    inBytes("bytes", bytes),
    {title: "out", number: true, value: (r) => r.outs, sum: String},
    {title: "in", number: true, value: (r) => r.ins, sum: String},
    inBytes("moved", (r) => bytes(r) * (r.ins + r.outs)),
    inSeconds("on the link", (r) => r.seconds),
    {title: "why", className: "why", value: (r) => plain(why(r)), show: (r) => explorer.inspector.sentence(why(r))},
  ], rows, {sortBy: 5, go: (r) => () => toTimeline(() => explorer.goTo(r.out !== NONE ? r.out : r.in))});
}

function drawRecomputed(host, view, explorer) {
  const rows = new Map();
  for (let i = 0; i < view.count; ++i) {
    if (!view.again[i]) continue;
    const op = view.target[i], span = view.findSpan(i, 0), spans = view.spans[RUN];
    if (!rows.has(op)) rows.set(op, {op, times: 0, seconds: 0, instruction: i});
    ++rows.get(op).times;
    if (span >= 0) rows.get(op).seconds += spans.end[span] - spans.begin[span];
  }
  if (rows.size === 0) return host.replaceChildren(element("p", {}, "Nothing: every op runs once."));
  const made = (row) => view.graph.ops.outputs[row.op].reduce((sum, b) => sum + view.bufferBytes(b), 0);
  const reader = (row) => { const words = mention(view, view.nextReader[row.instruction]); return words.length ? words : ["nothing"]; };
  new SortedTable(host, [
    {title: "op", className: "name", value: (r) => view.opName(r.op)},
    {title: "type", value: (r) => view.opType(r.op)},
    {title: "again", number: true, value: (r) => r.times, sum: String},
    inSeconds("seconds", (r) => r.seconds),
    inBytes("makes", made),
    {title: "read next by", className: "why", value: (r) => plain(reader(r)), show: (r) => explorer.inspector.sentence(reader(r))},
  ], [...rows.values()], {sortBy: 3, go: (r) => () => toTimeline(() => explorer.goTo(r.instruction))});
}

function drawPlanners(host, data, choose) {
  const rows = data.planners, cell = (r, text) => r.predicted ? [text(r.predicted)] : [];
  const best = rows.find((r) => r.details === 0);
  const column = (title, text, value) => ({title, number: true, value: (r) => r.predicted ? value(r.predicted) : -1, show: (r) => cell(r, text)});
  new SortedTable(host, [
    {title: "planner", value: (r) => r.planner},
    {title: "efficiency", number: true, value: (r) => r.predicted ? r.predicted.efficiency : -1, show: (r) => {
      if (!r.predicted) return [];
      const bar = element("span", {className: "bar"});
      bar.style.width = 80 * Math.min(1, r.predicted.efficiency) + "px";
      const holder = element("span", {});
      holder.style.cssText = "display:inline-block;width:88px;text-align:left";
      holder.append(bar);
      return [percent(r.predicted.efficiency, 2), holder];
    }},
    column("iteration", (p) => formatSeconds(p.iteration_seconds), (p) => p.iteration_seconds),
    column("swap in", (p) => formatBytes(p.swap_in_bytes), (p) => p.swap_in_bytes),
    column("swap out", (p) => formatBytes(p.swap_out_bytes), (p) => p.swap_out_bytes),
    column("recompute", (p) => formatSeconds(p.recompute_seconds), (p) => p.recompute_seconds),
    column("fallback", (p) => formatBytes(p.fallback_bytes), (p) => p.fallback_bytes),
    column("swap bound", (p) => percent(p.swap_bound_seconds > 0 ? p.ideal_seconds / p.swap_bound_seconds : 1, 2), (p) => -p.swap_bound_seconds),
    {title: "planned in", number: true, value: (r) => r.planning_seconds ?? -1, show: (r) => r.predicted ? [formatSeconds(r.planning_seconds)] : []},
    {title: "", className: "why", value: (r) => r.refusal || r.invalid || "", show: (r) => r.refusal ? ["no plan: " + r.refusal]
        : r.invalid ? [element("span", {className: "bad"}, "NOT VALID: " + r.invalid)]
        : r.details < 0 ? ["not in this file in detail, to keep it small"] : []},
  ], rows, {sortBy: 1, bestRow: best, go: (r) => r.details >= 0 ? () => choose(r.details) : null});
}

function toTimeline(action) {
  document.getElementById("timeline").scrollIntoView({block: "start"});
  action();
}
