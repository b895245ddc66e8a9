// The search box: ops and buffers by name.

const MOST_HITS = 40;

class Search {
  constructor(explorer) {
    this.explorer = explorer;
    this.input = document.getElementById("search");
    this.list = document.getElementById("search-hits");
    this.hits = [];
    this.chosen = 0;
    this.input.addEventListener("input", () => this.update());
    this.input.addEventListener("focus", () => this.update());
    this.input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.input.addEventListener("keydown", (e) => this.key(e));
    document.addEventListener("keydown", (e) => {
      if (e.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
      e.preventDefault();
      this.input.focus();
    });
  }

  // Names that begin with the text come first, then those that contain it.
  find(text) {
    const view = this.explorer.view, wanted = text.toLowerCase(), first = [], later = [];
    if (!view || wanted === "") return [];
    const look = (names, type) => {
      for (let i = 0; i < names.length && first.length < MOST_HITS; ++i) {
        const at = names[i].toLowerCase().indexOf(wanted);
        if (at === 0) first.push({type, index: i});
        else if (at > 0 && later.length < MOST_HITS) later.push({type, index: i});
      }
    };
    look(view.graph.ops.name, "op");
    look(view.graph.buffers.name, "buffer");
    return [...first, ...later].slice(0, MOST_HITS);
  }

  update() {
    this.hits = this.find(this.input.value);
    this.chosen = 0;
    const view = this.explorer.view;
    this.list.replaceChildren(...this.hits.map((hit, h) => {
      const op = hit.type === "op";
      const item = element("li", {id: "hit" + h}, (op ? view.opName(hit.index) : view.bufferName(hit.index)) + " ",
                           element("span", {className: "muted"}, op ? "op, " + view.opType(hit.index)
                               : view.bufferKind(hit.index) + ", " + formatBytes(view.bufferBytes(hit.index))));
      item.setAttribute("role", "option");
      item.addEventListener("pointerdown", (e) => { e.preventDefault(); this.go(hit); });
      return item;
    }));
    if (this.input.value !== "" && this.hits.length === 0) this.list.append(element("li", {className: "muted"}, "no such name"));
    this.list.hidden = this.input.value === "";
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.mark();
  }

  mark() {
    [...this.list.children].forEach((item, h) => item.setAttribute("aria-selected", String(h === this.chosen)));
    if (this.hits.length === 0) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", "hit" + this.chosen);
    const item = this.list.children[this.chosen];
    if (item && item.scrollIntoView) item.scrollIntoView({block: "nearest"});
  }

  key(e) {
    if (e.key === "Escape") {
      this.close();
      this.input.blur();
    } else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      this.chosen = Math.min(Math.max(this.chosen + (e.key === "ArrowDown" ? 1 : -1), 0), Math.max(0, this.hits.length - 1));
      this.mark();
    } else if (e.key === "Enter" && this.hits[this.chosen]) {
      this.go(this.hits[this.chosen]);
    }
  }

  go(hit) {
    this.close();
    if (hit.type === "op") this.explorer.goToOp(hit.index);
    else this.explorer.goToBuffer(hit.index);
    this.explorer.host.focus({preventScroll: true});
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }
}
