// SPDX-License-Identifier: BSD-3-Clause
// Actions of the user: each changes the view, and has it read or only drawn again.

const frameMilliseconds = 120, slowMilliseconds = 400; // of a step while playing
const leastWindow = 8; // samples along each side

let playing = false, soon = 0;

const within = (value, lo, hi) => Math.min(Math.max(value, lo), hi);
const nextOf = (names, name) => names[(names.indexOf(name) + 1) % names.length];

// Other samples are needed. While playing, the next step shows them.
function lookAt(changes) {
  Object.assign(state, changes);
  document.documentElement.dataset.state = "reading";
  putControls();
  clearTimeout(soon);
  if (!playing) soon = setTimeout(read, 0);
}

// The same samples, in another way.
function showAs(changes) {
  Object.assign(state, changes);
  putControls();
  if (drawn) redraw();
}

function levelsNow() {
  const {w, h} = picture.layout(viewNow());
  const pixels = [w, h].map((length) => length * (window.devicePixelRatio || 1));
  return levelsFor(dataset, state.axis, windowNow(), pixels);
}

let finest = null; // level that was last asked for

// Reads all levels, or, if so many of them are left out, the finest of the others alone.
async function read(leftOut = null) {
  const query = queryNow(), began = performance.now(), all = levelsNow();
  const levels = leftOut === null ? all : [all[Math.max(0, all.length - 1 - leftOut)]];
  finest = all.at(-1);
  try {
    await reader.refine(query, levels, (slice, last) => show(query, slice, levels, last));
    note("");
  } catch (error) {
    if (error.name !== "AbortError") note(reason(error));
  }
  return performance.now() - began;
}

// Another size may want finer samples.
function resize() {
  if (!drawn) return;
  redraw();
  if (levelsNow().at(-1) !== finest) lookAt({});
}

function setPosition(position) {
  if (dataset.box.length < 3 || !Number.isFinite(position)) return;
  const [lo, hi] = dataset.box[state.axis], positions = [...state.positions];
  positions[state.axis] = within(Math.round(position), lo, hi - 1);
  lookAt({positions});
}

const movePosition = (by) => setPosition(state.positions[state.axis] + by);
const setStep = (step) => lookAt({step: within(step, 0, dataset.steps.length - 1)});
const setField = (field) => lookAt({field, component: 0, auto: true, log: null});
const setComponent = (component) => lookAt({component, auto: true, log: null});

function setAxis(axis) {
  if (dataset.box.length === 3) lookAt({axis, window: null});
}

function setLimits() {
  const [low, high] = ["low", "high"].map((id) => Number(at(id).value.replace("−", "-")));
  if (low < high) showAs({low, high, auto: false});
  else putLimits();
}

function limitsFromShown() {
  seen.set(seenName(), picture.layers.map(({slice}) => extremes(slice.values)).reduce(together, undefined));
  showAs({auto: true});
}

function setWindow(window) {
  const before = windowNow();
  if (window.every((span, n) => span.every((c, k) => c === before[n][k]))) return;
  state.window = window;
  if (drawn) redraw();
  lookAt({});
}

// About a point of the canvas.
function zoom(factor, x, y) {
  const centre = picture.coordinates(viewNow(), x, y), axes = sides();
  setWindow(windowNow().map(([lo, hi], n) => {
    const [least, most] = dataset.box[axes[n]], smallest = Math.min(leastWindow, most - least);
    const width = within(Math.round((hi - lo) / factor), smallest, most - least);
    const from = centre[n] - (centre[n] - lo) / (hi - lo) * width;
    const first = within(Math.round(from), least, most - width);
    return [first, first + width];
  }));
}

const rest = [0, 0]; // of what the pointer was dragged, less than a sample

function pan(dx, dy) {
  const {w, h} = picture.layout(viewNow()), axes = sides(), by = [-dx / w, dy / h];
  setWindow(windowNow().map(([lo, hi], n) => {
    const [least, most] = dataset.box[axes[n]];
    rest[n] += by[n] * (hi - lo);
    const first = within(lo + Math.trunc(rest[n]), least, most - (hi - lo));
    rest[n] -= Math.trunc(rest[n]);
    return [first, first + hi - lo];
  }));
}

const zoomMiddle = (factor) => zoom(factor, at("picture").clientWidth / 2, at("picture").clientHeight / 2);

// Step after step, as fine as can be read in time.
async function play() {
  if (dataset.steps.length < 2) return;
  playing = !playing;
  at("play").classList.toggle("on", playing);
  if (!playing) return void lookAt({});
  for (let leftOut = 0; playing;) {
    state.step = (state.step + 1) % dataset.steps.length;
    putControls();
    const took = await read(leftOut);
    if (took > slowMilliseconds) ++leftOut;
    await new Promise((done) => setTimeout(done, Math.max(0, frameMilliseconds - took)));
  }
}
