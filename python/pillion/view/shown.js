// SPDX-License-Identifier: BSD-3-Clause
// Shows the picture and everything around it that describes it.

let drawn = null; // what the slices in the picture are of
const marks = {}; // when the first picture was seen, and the first that was complete

const isSame = (a, b) =>
  a && ["field", "component", "step", "axis", "position"].every((k) => a[k] === b[k]);

function show(query, slice, levels, last) {
  if (!isSame(drawn, query)) picture.layers = [];
  drawn = query;
  seen.set(seenName(), together(seen.get(seenName()), extremes(slice.values)));
  picture.add(slice);
  redraw();
  mark(slice, last);
  tell(slice, levels);
  look();
}

// The picture with the limits and colours that are now right.
function redraw() {
  const view = viewNow(), [low, high] = limitsNow();
  Object.assign(state, {low, high});
  picture.draw(view);
  putLimits();
}

// For tests and for debugging.
function mark(slice, last) {
  marks.first ??= performance.now();
  marks.samples ??= slice.values.length;
  if (last) marks.refined ??= performance.now();
  Object.assign(document.documentElement.dataset, {
    state: last ? "refined" : "refining", level: slice.level, samples: slice.values.length,
    step: dataset.steps[state.step], steps: dataset.steps.length,
    firstSamples: marks.samples, firstPictureMs: marks.first.toFixed(0),
    refinedMs: marks.refined?.toFixed(0) ?? ""});
}

function tell(slice, levels) {
  const stride = Math.max(...slice.stride), finest = dataset.strides.length - 1;
  const every = stride === 1 ? "every sample" : `every ${stride}th sample`;
  const away = dataset.box.length === 3 && slice.position !== state.positions[state.axis];
  const where = away ? ` · at ${axisNames[state.axis]} ${slice.position}` : "";
  at("state").textContent =
    `${slice.width} × ${slice.height}, ${every} · level ${slice.level} of ${finest}${where}`;
  at("pips").replaceChildren(...levels.map((level) =>
    Object.assign(document.createElement("i"), {className: level <= slice.level ? "on" : ""})));
}

function note(text) {
  at("notice").hidden = text === "";
  at("notice").textContent = text;
  if (text) document.documentElement.dataset.problem = text;
  else delete document.documentElement.dataset.problem;
}

let pointer = [NaN, NaN];

// The value under the pointer, and where it is: indices, and the place of the sample's cell.
function look() {
  const found = Number.isNaN(pointer[0]) || !drawn ? null
    : picture.sampleAt(...picture.coordinates(viewNow(), ...pointer));
  at("value").textContent =
    found ? `${shown(found.value)} ${unitText(fieldNow().units)}` : "\u00a0";
  if (!found) {
    at("where").textContent = "";
    return;
  }
  const axes = sides();
  const indices = dataset.box.map((_, a) =>
    (axes.includes(a) ? found.at[axes.indexOf(a)] : found.slice.position));
  const place = indices.map((c, a) => shown(physical(a, c + 0.5), 4)).join(", ");
  at("where").textContent = indices.map((c, a) => `${axisNames[a]} ${c}`).join("  ") +
    (dataset.physical_box ? `  ·  (${place}) ${lengthUnits()}` : "");
}

const inBrief = (value) => {
  const size = Math.abs(value), isLong = size !== 0 && (size < 1e-3 || size >= 1e5);
  return isLong ? value.toExponential(2) : String(Number(value.toPrecision(4)));
};

function putLimits() {
  for (const id of ["low", "high"])
    if (document.activeElement !== at(id)) at(id).value = inBrief(state[id]);
  choices.scale.value = isLog() ? "log" : "linear";
}

// Sets every control to what is so.
function putControls() {
  const field = fieldNow(), steps = dataset.steps.length;
  const size = dataset.box.map(([lo, hi]) => hi - lo).join(" × ");
  at("title").textContent = dataset.title;
  at("about").textContent =
    `${dataset.name} · ${size} samples · ${steps} ${steps === 1 ? "step" : "steps"}`;
  document.title = `${state.field} · ${dataset.title} · pillion view`;
  at("field").value = state.field;
  at("component_row").hidden = field.components < 2;
  fill(at("component"), [...Array(field.components).keys(), "magnitude"].map((c) => [c, c]));
  at("component").value = state.component;
  putPosition();
  choices.map.value = state.map;
  choices.limits.value = state.auto ? "auto" : "fixed";
  for (const id of ["reversed", "smooth"]) at(id).checked = state[id];
  putTime();
  putLimits();
}

function putTime() {
  const steps = dataset.steps.length, time = dataset.times?.[state.step];
  Object.assign(at("step"), {max: steps - 1, value: state.step, disabled: steps < 2});
  at("play").disabled = steps < 2;
  at("moment").textContent = `step ${dataset.steps[state.step]}` +
    (time === undefined ? "" : `, ${shown(time)} ${unitText(dataset.time_units)}`);
}

function putPosition() {
  const flat = dataset.box.length < 3;
  for (const id of ["axis_row", "position_row"]) at(id).hidden = flat;
  if (flat) return;
  const [lo, hi] = dataset.box[state.axis];
  for (const id of ["position", "position_number"])
    if (document.activeElement !== at(id) || at(id).type === "range")
      Object.assign(at(id), {min: lo, max: hi - 1, value: state.positions[state.axis]});
  Object.assign(at("position_number"), {min: lo, max: hi - 1});
  choices.axis.value = state.axis;
}
