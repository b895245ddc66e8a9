// The page's data: flat lists of numbers become typed arrays. A plan is decoded when it is first shown.

const OCCUPANTS = ["parameter", "state", "input", "output", "temporary", "recomputed", "workspace"];
const STREAMS = ["compute", "swap-in", "swap-out"];
const RUN = 0, SWAP_IN = 1, SWAP_OUT = 2;
const NONE = -1;
const FIRST_ITERATION = -4;  // that a reference can mean

class PlanView {
  constructor(plan, graph) {
    this.plan = plan;
    this.graph = graph;
    this.seconds = plan.seconds * plan.tick;
    this.first = plan.first * plan.tick;
    this.last = Math.max(plan.last * plan.tick, this.first + 1e-9);
    this.readInstructions(plan.instructions);
    this.spans = plan.spans.map((numbers, stream) => this.readSpans(numbers, stream));
    this.stalls = this.readStalls(plan.stalls);
    this.stays = this.readStays(plan.stays);
    this.memory = this.readMemory(plan.memory);
  }

  readInstructions(numbers) {
    const n = this.count = numbers.length / 5;
    this.kind = new Uint8Array(n);
    this.target = new Int32Array(n);
    this.takenBy = new Int32Array(n);
    this.nextReader = new Int32Array(n);
    this.again = new Uint8Array(n);
    for (let i = 0; i < n; ++i) {
      [this.kind[i], this.target[i], this.takenBy[i], this.nextReader[i], this.again[i]] =
          numbers.slice(5 * i, 5 * i + 5);
    }
  }

  readSpans(numbers, stream) {
    const n = numbers.length / 5;
    const spans = {
      stream, length: n,
      instruction: new Int32Array(n), iteration: new Int8Array(n),
      begin: new Float64Array(n), end: new Float64Array(n), blocker: new Int32Array(n),
    };
    let time = 0;
    for (let s = 0; s < n; ++s) {
      spans.instruction[s] = numbers[5 * s];
      spans.iteration[s] = numbers[5 * s + 1];
      spans.begin[s] = (time += numbers[5 * s + 2]) * this.plan.tick;
      spans.end[s] = (time += numbers[5 * s + 3]) * this.plan.tick;
      spans.blocker[s] = numbers[5 * s + 4];
    }
    return spans;
  }

  readStalls(numbers) {
    const stalls = [], tick = this.plan.tick;
    for (let s = 0; s < numbers.length; s += 8) {
      stalls.push({
        instruction: numbers[s], begin: numbers[s + 1] * tick, seconds: numbers[s + 2] * tick, blocker: numbers[s + 3],
        behindLink: numbers[s + 4] === 0, queued: numbers[s + 5], queueBegin: numbers[s + 6] * tick, root: numbers[s + 7],
      });
    }
    return stalls;
  }

  readStays(numbers) {
    const n = numbers.length / 7, {buffers, ops} = this.graph, tick = this.plan.tick;
    const stays = {
      length: n, target: new Int32Array(n), occupant: new Uint8Array(n), offset: new Float64Array(n),
      bytes: new Float64Array(n), begin: new Float64Array(n), end: new Float64Array(n),
      placedBy: new Int32Array(n), takenBy: new Int32Array(n), longest: 0,
    };
    let time = 0;
    for (let s = 0; s < n; ++s) {
      const at = 7 * s;
      stays.target[s] = numbers[at];
      stays.occupant[s] = numbers[at + 1];
      stays.offset[s] = numbers[at + 2] * 256;
      stays.bytes[s] = numbers[at + 1] === OCCUPANTS.length - 1 ? ops.workspace[numbers[at]] : buffers.bytes[numbers[at]];
      time += numbers[at + 3];
      stays.begin[s] = time * tick;
      stays.end[s] = (time + numbers[at + 4]) * tick;
      stays.placedBy[s] = numbers[at + 5];
      stays.takenBy[s] = numbers[at + 6];
    }
    return stays;
  }

  // `time[i]`: from when on; `level[o][i]`: bytes of occupants 0 to o together.
  readMemory(numbers) {
    let points = 0;
    for (let m = 0; m < numbers.length; m += 3) points += m === 0 || numbers[m] !== 0 ? 1 : 0;
    const memory = {
      length: points, time: new Float64Array(points), level: OCCUPANTS.map(() => new Float64Array(points)),
      peak: 0, peakAt: 0,
    };
    const bytes = OCCUPANTS.map(() => 0);
    let time = 0, point = -1;
    for (let m = 0; m < numbers.length; m += 3) {
      if (m === 0 || numbers[m] !== 0) ++point;
      time += numbers[m];
      bytes[numbers[m + 1]] += numbers[m + 2];
      memory.time[point] = time * this.plan.tick;
      let sum = 0;
      for (let o = 0; o < bytes.length; ++o) memory.level[o][point] = sum += bytes[o];
    }
    const total = memory.level[OCCUPANTS.length - 1];
    for (let p = 0; p < points; ++p) {
      if (total[p] <= memory.peak || memory.time[p] < 0 || memory.time[p] > this.seconds) continue;
      memory.peak = total[p];
      memory.peakAt = memory.time[p];
    }
    return memory;
  }

  // What a reference means; null for none.
  resolve(reference) {
    if (reference === NONE || this.count === 0) return null;
    return {instruction: reference % this.count, iteration: Math.floor(reference / this.count) + FIRST_ITERATION};
  }

  streamOf(instruction) { return this.kind[instruction]; }

  // Index of an execution in its stream's spans; -1 when it is outside of what is told.
  findSpan(instruction, iteration) {
    if (!this.spanIndex) {
      this.spanIndex = new Map();
      for (const spans of this.spans) {
        for (let s = 0; s < spans.length; ++s) {
          this.spanIndex.set(spans.instruction[s] + spans.iteration[s] * this.count, s);
        }
      }
    }
    return this.spanIndex.get(instruction + iteration * this.count) ?? -1;
  }

  opName(op) { return shortened(this.graph.ops.name[op]) || "op " + op; }
  opType(op) { return this.graph.ops.types[this.graph.ops.type[op]]; }
  bufferName(buffer) { return shortened(this.graph.buffers.name[buffer]) || "buffer " + buffer; }
  bufferKind(buffer) { return OCCUPANTS[this.graph.buffers.kind[buffer]]; }
  bufferBytes(buffer) { return this.graph.buffers.bytes[buffer]; }

  // Name of an instruction, as people say it.
  nameOf(instruction) {
    const target = this.target[instruction];
    if (this.kind[instruction] === RUN) return this.opName(target) + (this.again[instruction] ? " (again)" : "");
    return (this.kind[instruction] === SWAP_IN ? "swap-in of " : "swap-out of ") + this.bufferName(target);
  }
}

// Names tell most at their ends.
function shortened(name) { return name.length > 120 ? name.slice(0, 70) + "…" + name.slice(-40) : name; }

// First index in the sorted `values` with values[index] > value.
function upperBound(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
