// SPDX-License-Identifier: BSD-3-Clause
// Slices from the server, coarse to fine.

async function answer(place, signal) {
  const found = await fetch(place, {signal});
  if (!found.ok) throw new Error(await found.text());
  return found;
}

// Browsers report this error when the server does not answer.
const reason = (error) =>
  (error instanceof TypeError ? "pillion view has ended, or cannot be reached" : error.message);

const describe = async () => (await answer("dataset")).json();

// The axes along the picture: all but the one across which a slice of three lies.
const sidesOf = (dataset, axis) =>
  dataset.box.map((_, a) => a).filter((a) => dataset.box.length < 3 || a !== axis);

const coarsestSamples = 3000;

// Levels to ask for one after the other, each with about four times the samples of the one before.
// The finest is the first whose samples are no larger than the pixels that they are for.
function levelsFor(dataset, axis, window, pixels) {
  const sides = sidesOf(dataset, axis);
  const count = (level) => sides.reduce(
    (all, a, n) => all * Math.ceil((window[n][1] - window[n][0]) / dataset.strides[level][a]), 1);
  const fineEnough = (stride) => sides.every(
    (a, n) => stride[a] === 1 || stride[a] * pixels[n] <= window[n][1] - window[n][0]);
  let level = dataset.strides.findIndex(fineEnough);
  if (level < 0) level = dataset.strides.length - 1;
  const across = dataset.box.length === 3 ? (l) => dataset.strides[l][axis] : () => 1;
  while (level + 1 < dataset.strides.length && count(level + 1) === count(level) &&
         across(level + 1) < across(level)) ++level;
  const levels = [level];
  while (levels[0] > 0 && count(levels[0]) > coarsestSamples) {
    let next = levels[0] - 1;
    while (next > 0 && 3.5 * count(next) > count(levels[0])) --next;
    levels.unshift(next);
  }
  return levels;
}

async function readSlice(query, level, signal) {
  const words = new URLSearchParams({...query, level, window: query.window.flat().join(",")});
  const found = await answer(`slice?${words}`, signal);
  const about = JSON.parse(found.headers.get("Slice"));
  const window = query.window.length < 2 ? [...query.window, [0, 1]] : query.window;
  return {...about, level, window, values: new Float32Array(await found.arrayBuffer())};
}

// One reading at a time: a new one ends the one before.
class Reader {
  #abort = new AbortController();

  // Calls `show` with each slice that has samples, and whether it is the last.
  async refine(query, levels, show) {
    this.stop();
    const {signal} = this.#abort;
    for (const [n, level] of levels.entries()) {
      const slice = await readSlice(query, level, signal);
      if (signal.aborted) return;
      if (slice.values.length > 0) show(slice, n === levels.length - 1);
      await new Promise(requestAnimationFrame); // so that it is seen
      if (signal.aborted) return;
    }
  }

  stop() {
    this.#abort.abort();
    this.#abort = new AbortController();
  }
}
