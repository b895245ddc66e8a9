// Puts the page together. Each part stands alone: if one fails it says so, and the others are there.

function attempt(host, what, work) {
  try {
    work();
  } catch (error) {
    if (host) host.append(failure(what, error));
  }
}

function legend(host) {
  const entry = ([color, text]) => {
    const made = element("span", {}, text);
    made.style.setProperty("--swatch", `var(--${color})`);
    return made;
  };
  const streams = [["run", "op"], ["again", "op run again"], ["in", "swap-in"], ["out", "swap-out"], ["stall", "compute waits"]];
  host.replaceChildren(element("b", {}, "streams"), ...streams.map(entry),
                       element("b", {}, "memory"), ...OCCUPANTS.map((o) => entry([o, o])));
}

function deviceWords(device) {
  const words = [`${device.name || "device"}: ${formatRate(device.h2d_bytes_per_second)} in, ${formatRate(device.d2h_bytes_per_second)} out`];
  const both = device.h2d_bytes_per_second + device.d2h_bytes_per_second;
  if (device.duplex_bytes_per_second > 0 && device.duplex_bytes_per_second < both) words.push(`${formatRate(device.duplex_bytes_per_second)} together`);
  if (device.copy_latency_seconds > 0) words.push(`${formatSeconds(device.copy_latency_seconds)} a copy`);
  if (device.compute_slowdown_while_copying > 1) words.push(`ops ${device.compute_slowdown_while_copying.toFixed(2)} × as long while copying`);
  return words.join(", ");
}

class Page {
  constructor(data) {
    this.data = data;
    this.views = data.plans.map(() => null);
    readColors();
    this.explorer = new Explorer(document.getElementById("panels"));
    this.explorer.inspector = new Inspector(this.explorer);
    attempt(document.getElementById("timeline"), "The search box", () => new Search(this.explorer));
    attempt(document.getElementById("timeline"), "The legend", () => legend(document.getElementById("legend")));
    this.listen();
  }

  listen() {
    const {explorer} = this, middle = () => (explorer.axis.begin + explorer.axis.end) / 2;
    const actions = {in: () => explorer.axis.zoom(0.5, middle()), out: () => explorer.axis.zoom(2, middle()),
                     fit: () => explorer.fit(), stall: () => explorer.nextStall()};
    for (const button of document.querySelectorAll("[data-do]")) {
      button.addEventListener("click", () => {
        actions[button.dataset.do]();
        explorer.redraw();
      });
    }
    const recolor = () => {
      readColors();
      explorer.redraw();
    };
    const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)");
    if (dark && dark.addEventListener) dark.addEventListener("change", recolor);
    window.addEventListener("beforeprint", () => {
      document.documentElement.classList.add("printing");
      readColors();
      explorer.print();
    });
    window.addEventListener("afterprint", () => {
      document.documentElement.classList.remove("printing");
      readColors();
      explorer.resize();
    });
  }

  plannersTable() {
    const section = document.getElementById("planners"), select = document.getElementById("plan-select");
    section.hidden = false;
    drawPlanners(section.querySelector(".body"), this.data, (plan) => this.show(plan));
    if (this.data.plans.length < 2) return;
    this.data.plans.forEach((plan, at) => select.append(element("option", {value: String(at)}, `${plan.planner} (${percent(plan.predicted.efficiency)})`)));
    select.addEventListener("change", () => this.show(Number(select.value)));
    document.getElementById("picker").hidden = false;
  }

  show(at) {
    const {data, explorer} = this, plan = data.plans[at];
    const view = this.views[at] = this.views[at] || new PlanView(plan, data.graph);
    document.getElementById("plan-select").value = String(at);
    document.getElementById("title").textContent = data.graph.name || "graph without a name";
    document.getElementById("subtitle").textContent = `planner ${plan.planner}, seed ${plan.seed} · ${plural(data.graph.ops.name.length, "op")}, ` +
        `${plural(data.graph.buffers.name.length, "buffer")} · ${deviceWords(plan.device)}`;
    const part = (id, what, work) => {
      const section = document.getElementById(id);
      attempt(section.querySelector(".body") || section, what, () => work(section.querySelector(".body") || section));
    };
    part("figures", "The key figures", (host) => drawFigures(host, data, view));
    part("timeline", "The timeline", () => explorer.show(view));
    part("stalls", "The stalls", (host) => drawStalls(host, view, explorer));
    part("swaps", "The swaps", (host) => drawSwaps(host, view, explorer));
    part("recomputed", "What is recomputed", (host) => drawRecomputed(host, view, explorer));
    const searched = plan.search.history && plan.search.history.some(([t, s]) => t >= 0 && s > 0);
    document.getElementById("curve").hidden = !searched;
    if (searched) part("curve", "The search", (host) => drawCurve(host, view));
  }
}

attempt(document.getElementById("header"), "The report", () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = new Page(data);
  if (data.planners) attempt(document.getElementById("planners"), "The table of planners", () => page.plannersTable());
  if (data.plans.length) return page.show(0);
  document.getElementById("title").textContent = "No planner made a plan";
  for (const id of ["timeline", "stalls", "swaps", "recomputed"]) document.getElementById(id).hidden = true;
});
