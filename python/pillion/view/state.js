// SPDX-License-Identifier: BSD-3-Clause
// What is looked at, and what follows from that.

const axisNames = ["x", "y", "z"];
const decades = 1e-4; // of the highest value: a logarithmic scale begins there, as in the report
const wide = 100; // a field that spans more than this factor is shown on a logarithmic scale

let dataset = null; // as the server describes it
const picture = new Picture(at("picture")), reader = new Reader();
const seen = new Map(); // extremes of what has been seen, by field and component

// `log` is null until the user chooses; `window` until the user zooms.
const state = {field: "", component: 0, step: 0, axis: 2, positions: [0, 0, 0], window: null,
               map: "viridis", reversed: false, smooth: false, log: null, auto: true, low: 0, high: 1};
window.pillionViewState = state; // for tests

const fieldNow = () => dataset.fields.find((field) => field.name === state.field);
const seenName = () => `${state.field} ${state.component}`;
const sides = () => sidesOf(dataset, state.axis);
const wholeWindow = () => sides().map((axis) => [...dataset.box[axis]]);
const windowNow = () => state.window ?? wholeWindow();

function physical(axis, coordinate) {
  if (!dataset.physical_box) return coordinate;
  const [lo, hi] = dataset.box[axis], [low, high] = dataset.physical_box[axis];
  return low + (coordinate - lo) / (hi - lo) * (high - low);
}
const lengthUnits = () => (dataset.physical_box ? unitText(dataset.length_units) : "");

function isLog() {
  const {low, high} = seen.get(seenName()) ?? {low: 0, high: 1};
  return state.log ?? (low > 0 && high > wide * low);
}

function limitsNow() {
  const found = seen.get(seenName());
  if (!state.auto) return [state.low, state.high];
  if (!found || !(found.low <= found.high)) return [0, 1];
  if (isLog() && found.positive <= found.high)
    return [Math.max(found.positive, found.high * decades), found.high];
  const most = Math.max(Math.abs(found.low), Math.abs(found.high));
  return state.map === diverging && found.low < 0 ? [-most, most] : [found.low, found.high];
}

// What the server is asked for; of what is flat, there is one plane.
const queryNow = () => ({
  field: state.field, component: state.component, step: dataset.steps[state.step],
  axis: state.axis, position: dataset.box.length < 3 ? 0 : state.positions[state.axis],
  window: windowNow()});

// What the picture needs to be drawn. That of a line is a strip.
function viewNow() {
  const axes = sides(), field = fieldNow(), window = [...windowNow()];
  const spacing = axes.map((a) => Math.abs(physical(a, 1) - physical(a, 0)) || 1);
  if (axes.length < 2) {
    window.push([0, 1]);
    spacing.push((window[0][1] - window[0][0]) * spacing[0] / mostStretch);
  }
  const units = (text) => (text ? ` [${text}]` : "");
  const part = field.components > 1 ? ` (${state.component})` : "";
  return {window, spacing, smooth: state.smooth, scale: new Scale(...limitsNow(), isLog()),
          palette: palette(state.map, state.reversed),
          physical: (n, c) => (n < axes.length ? physical(axes[n], c) : c),
          labels: axes.map((a) => axisNames[a] + units(lengthUnits())),
          fieldLabel: field.name + part + units(unitText(field.units))};
}
