// Numbers and reasons in words.

function threeDigits(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function formatBytes(bytes) {
  if (bytes < 0) return "−" + formatBytes(-bytes);
  if (bytes < 1024) return bytes + " B";
  let unit = -1;
  for (const last = 5; (unit < 0 || bytes >= 1023.5) && unit < last; ++unit) bytes /= 1024;
  return threeDigits(bytes) + " " + ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][unit];
}

function formatSeconds(seconds) {
  if (seconds < 0) return "−" + formatSeconds(-seconds);
  if (seconds === 0) return "0 s";
  let unit = 0;
  for (; seconds < 0.9995 && unit < 3; ++unit) seconds *= 1000;
  return threeDigits(seconds) + " " + ["s", "ms", "µs", "ns"][unit];
}

function formatRate(bytesPerSecond) {
  let unit = 0;
  for (; bytesPerSecond >= 999.5 && unit < 4; ++unit) bytesPerSecond /= 1000;
  return threeDigits(bytesPerSecond) + " " + ["B/s", "KB/s", "MB/s", "GB/s", "TB/s"][unit];
}

function percent(fraction, digits = 1) { return (100 * fraction).toFixed(digits) + " %"; }
function plural(count, word) { return count.toLocaleString("en") + " " + word + (count === 1 ? "" : "s"); }

function whichIteration(iteration) {
  if (iteration === 0) return "";
  if (iteration === 1) return " of the next iteration";
  if (iteration === -1) return " of the iteration before";
  return iteration > 0 ? ` of ${iteration} iterations later` : ` of ${-iteration} iterations before`;
}

// A sentence is a list of strings and of {to, text}: places in the timeline to jump to.
function mention(view, reference, from = 0) {
  const r = view.resolve(reference);
  if (!r) return [];
  return [{to: r, text: view.nameOf(r.instruction)}, whichIteration(r.iteration - from)];
}

function plain(words) { return words.map((w) => typeof w === "string" ? w : w.text).join(""); }

// References in the data are for the shown iteration; those of an execution in another one lie as much later.
function shifted(view, reference, iteration) {
  return reference === NONE ? NONE : reference + iteration * view.count;
}

// Why a copy of the shown iteration (or the same one `iteration` later) is made.
function whyCopied(view, instruction, iteration = 0) {
  const buffer = view.target[instruction], kind = view.bufferKind(buffer);
  const reader = mention(view, shifted(view, view.nextReader[instruction], iteration), iteration);
  if (view.kind[instruction] === SWAP_IN) {
    if (kind === "input") return ["input from the host", ...(reader.length ? ["; read by ", ...reader] : [])];
    return reader.length ? ["read next by ", ...reader] : ["must be on the device when the iteration ends"];
  }
  const words = [];
  const taker = view.takenBy[instruction];
  if (kind === "output") words.push("output: the host reads it after every iteration");
  else if (taker === NONE) words.push("keeps the host copy equal; nothing takes its place");
  else words.push(...whyEvicted(view, shifted(view, taker, iteration), buffer, iteration));
  if (kind !== "output") words.push(...(reader.length ? ["; read next by ", ...reader] : ["; not read again"]));
  return words;
}

function whyEvicted(view, taker, buffer, from) {
  const r = view.resolve(taker);
  if (!r) return [];
  if (view.kind[r.instruction] === RUN) return ["its place is needed by ", ...mention(view, taker, from)];
  if (view.target[r.instruction] === buffer) return ["leaves and comes back to the same place"];
  const user = mention(view, shifted(view, view.nextReader[r.instruction], r.iteration), from);
  return ["its place is needed by the ", ...mention(view, taker, from), ...(user.length ? [", read by ", ...user] : [])];
}

function whyStalled(view, stall) {
  const blocker = view.resolve(stall.blocker);
  const words = ["waits for ", ...mention(view, stall.blocker)];
  if (!blocker || view.kind[blocker.instruction] === RUN) return words;
  words.push(` (${formatBytes(view.bufferBytes(view.target[blocker.instruction]))})`);
  if (view.kind[blocker.instruction] === SWAP_OUT) words.push(", to have its place");
  const root = mention(view, stall.root);
  if (stall.queued > 0) {
    words.push(`, behind ${plural(stall.queued, "copy").replace("copys", "copies")}: the link had been busy without a ` +
               `pause for ${formatSeconds(Math.max(0, stall.begin - stall.queueBegin))} when the wait began`);
    if (root.length) words.push("; that queue could start after ", ...root);
  } else if (root.length) {
    words.push(", which could start only after ", ...root);
  }
  return words;
}
