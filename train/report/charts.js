// Key figures, where the iteration's time goes, the search.

function tile(label, value, note = "", main = false) {
  return element("div", {className: main ? "tile main" : "tile"}, element("div", {className: "label"}, label),
                 element("div", {className: "value"}, value), element("div", {className: "note"}, note));
}

function drawFigures(host, data, view) {
  const {plan} = view, p = plan.predicted, {device} = plan, needed = data.device_bytes_needed;
  const efficiency = tile("efficiency", percent(p.efficiency, p.efficiency > 0.995 && p.efficiency < 1 ? 2 : 1), "of the speed without a limit", true);
  const meter = element("i");
  meter.style.width = 100 * Math.min(1, p.efficiency) + "%";
  efficiency.append(element("div", {className: "meter"}, meter));
  const limit = device.memory_bytes;
  const tiles = [
    efficiency,
    tile("iteration", formatSeconds(p.iteration_seconds), `ideal ${formatSeconds(p.ideal_seconds)}, no plan under ${formatSeconds(p.bound_seconds)}`),
    tile("device memory needed", formatBytes(needed), "without any swap or recompute"),
    tile("limit", limit === null ? "none" : formatBytes(limit), limit === null || !needed ? "" : `${percent(limit / needed)} of what is needed`),
    tile("highest address used", formatBytes(p.peak_bytes), view.memory.length ? `most in use at once ${formatBytes(view.memory.peak)}` : ""),
    tile("host memory", formatBytes(plan.host_bytes), device.host_bytes ? `limit ${formatBytes(device.host_bytes)}` : "slots for what may be there"),
    tile("swapped in", formatBytes(p.swap_in_bytes), "per iteration"),
    tile("swapped out", formatBytes(p.swap_out_bytes), "per iteration"),
    tile("recomputed", formatSeconds(p.recompute_seconds), p.ideal_seconds > 0 ? `${percent(p.recompute_seconds / p.ideal_seconds)} of the ops' time` : ""),
  ];
  if (p.fallback_bytes > 0) tiles.push(tile("fallback", formatBytes(p.fallback_bytes), "moved where the planner's own rule did not fit"));
  if (plan.search.evaluations > 0) tiles.push(tile("search", plural(plan.search.evaluations, "plan"), `in ${formatSeconds(plan.search.seconds)}`));
  host.replaceChildren(element("div", {className: "tiles"}, ...tiles), element("div", {className: "bounds"}, ...boundWords(p), budget(view)));
}

// What the bounds say.
function boundWords(p) {
  const words = [];
  const over = p.bound_seconds > 0 ? p.iteration_seconds / p.bound_seconds - 1 : 0;
  if (p.bound_seconds > 0) {
    const best = p.ideal_seconds / p.bound_seconds;
    words.push(element("p", {}, `No plan of this graph on this device can be faster than ${formatSeconds(p.bound_seconds)} (${percent(best)}), in any order, recompute allowed. ` +
        (over < 0.0005 ? "This plan is that fast: there is nothing left to gain."
                       : `This plan takes ${percent(over, over < 0.01 ? 2 : 1)} longer than that bound.`)));
  }
  if (p.swap_bound_seconds > 0) {
    const swapBest = percent(p.ideal_seconds / p.swap_bound_seconds);
    const faster = p.iteration_seconds < p.swap_bound_seconds * 0.9995;
    if (p.swap_bound_seconds <= p.ideal_seconds * 1.0005)
      words.push(element("p", {}, "With swaps alone, in this order of ops, the bound is the ideal: the bytes that must move would fit beside the ops."));
    else
      words.push(element("p", {}, `With swaps alone, in this order of ops, nothing could be faster than ${formatSeconds(p.swap_bound_seconds)} (${swapBest}). ` +
          (faster ? "Recompute gets this plan below that."
                  : `This plan takes ${percent(p.iteration_seconds / p.swap_bound_seconds - 1)} longer; to get below it takes another order, recompute, more memory or a faster link.`)));
  }
  return words;
}

// The shown iteration = ops + recompute + slowdown by copies + stalls.
function budget(view) {
  const spans = view.spans[RUN], seconds = view.graph.ops.seconds;
  let ops = 0, again = 0, slower = 0;
  for (let s = 0; s < spans.length; ++s) {
    if (spans.iteration[s] !== 0) continue;
    const i = spans.instruction[s], own = seconds[view.target[i]];
    if (view.again[i]) again += own;
    else ops += own;
    slower += spans.end[s] - spans.begin[s] - own;
  }
  const stalls = view.stalls.reduce((sum, s) => sum + s.seconds, 0);
  const parts = [["ops", ops, "run"], ["recompute", again, "again"], ["ops slowed by copies", slower, "state"], ["stalls", stalls, "stall"]]
      .filter(([, value]) => value > 1e-6 * view.seconds && value > 0);
  if (parts.length === 0) return element("p", {}, "No op runs.");
  const bar = element("div", {className: "budget"});
  bar.setAttribute("role", "img");
  for (const [name, value, color] of parts) {
    const part = element("span", {title: `${name} ${formatSeconds(value)}`}, name);
    part.style.cssText = `flex:${value / view.seconds} 1 0;background:var(--${color})`;
    bar.append(part);
  }
  const text = parts.map(([name, value]) => `${name} ${formatSeconds(value)}`).join(" + ");
  bar.setAttribute("aria-label", text);
  return element("div", {}, bar, element("p", {className: "muted"}, `The iteration shown below, ${formatSeconds(view.seconds)}: ${text}.`));
}

// SVG, since there are few points.
function svg(tag, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawCurve(host, view) {
  const {search, predicted: p} = view.plan;
  const points = search.history.filter(([t, s]) => t >= 0 && s > 0).map(([t, s]) => [t, p.ideal_seconds / s]);
  const width = 1000, height = 280, left = 56, right = 150, top = 14, bottom = 34;
  const end = Math.max(search.seconds, points[points.length - 1][0], 1e-6);
  const logarithmic = end / Math.max(points[0][0], 1e-6) > 30;
  const start = logarithmic ? Math.max(points[0][0], end * 1e-5) * 0.8 : 0;
  const scale = (t) => logarithmic ? Math.log(Math.max(t, start) / start) / Math.log(end / start) : t / end;
  const x = (t) => left + (width - left - right) * scale(t);
  const best = p.bound_seconds > 0 ? p.ideal_seconds / p.bound_seconds : 1;
  const high = Math.max(best, ...points.map(([, e]) => e)), lowest = Math.min(...points.map(([, e]) => e));
  const low = high - Math.max((high - lowest) * 1.15, 0.01);
  const y = (e) => top + (height - top - bottom) * (1 - (e - low) / (high - low) / 1.04);
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Efficiency of the best plan over search time: from ${percent(points[0][1])} to ${percent(points[points.length - 1][1])}`});
  const step = niceStep(high - low, 5);
  for (let e = Math.ceil(low / step) * step; e <= high + 1e-9; e += step) {
    picture.append(svg("line", {x1: left, x2: width - right, y1: y(e), y2: y(e), stroke: "var(--line)"}),
                   svg("text", {x: left - 6, y: y(e) + 4, "text-anchor": "end"}, percent(e, step < 0.01 ? 1 : 0)));
  }
  const ticks = [];
  const between = end / start < 1e3 ? [1, 2, 5] : [1];
  if (logarithmic) {
    for (let power = 10 ** Math.floor(Math.log10(start)); power <= end; power *= 10)
      ticks.push(...between.map((m) => m * power).filter((t) => t >= start && t <= end));
  } else for (let t = 0; t <= end * 1.0001; t += niceStep(end, 6)) ticks.push(t);
  for (const t of ticks) {
    picture.append(svg("line", {x1: x(t), x2: x(t), y1: height - bottom, y2: height - bottom + 4, stroke: "var(--muted)"}),
                   svg("text", {x: x(t), y: height - bottom + 17, "text-anchor": "middle"}, formatSeconds(t)));
  }
  picture.append(svg("text", {x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle"}, "search time" + (logarithmic ? " (logarithmic)" : "")));
  let path = `M${x(points[0][0])} ${y(points[0][1])}`;
  for (const [t, e] of points.slice(1)) path += `H${x(t)}V${y(e)}`;
  path += `H${x(end)}`;
  picture.append(svg("line", {x1: left, x2: width - right, y1: y(best), y2: y(best), stroke: "var(--bad)", "stroke-dasharray": "6 4"}),
                 svg("text", {x: width - right + 6, y: y(best) + 4}, `bound ${percent(best)}`),
                 svg("path", {d: path, fill: "none", stroke: "var(--accent)", "stroke-width": 2}));
  for (const [t, e] of points) {
    picture.append(svg("circle", {cx: x(t), cy: y(e), r: 3.5, fill: "var(--accent)"},
                       svg("title", {}, `${formatSeconds(t)}: ${percent(e, 2)}, iteration ${formatSeconds(p.ideal_seconds / e)}`)));
  }
  const last = points[points.length - 1][1], apart = Math.abs(y(last) - y(best)) > 14 ? 4 : 18;
  picture.append(svg("text", {x: width - right + 6, y: y(last) + apart}, `best plan ${percent(last, 1)}`));
  host.replaceChildren(element("p", {}, `${plural(search.evaluations, "plan")} in ${formatSeconds(search.seconds)}; each point is a better one.`), picture);
}
