// SPDX-License-Identifier: BSD-3-Clause
// Connects controls, pointer and keys with deeds, begins, and looks for steps that come.

const pollMilliseconds = 2000;

function makeChoices() {
  const maps = Object.keys(colourMaps).map((name) => [name, swatch(name), name]);
  choices.axis = new Choice(at("axis"), axisNames.map((name, axis) => [axis, name]), setAxis);
  choices.map = new Choice(at("maps"), maps, (map) => showAs({map}));
  choices.scale = new Choice(at("scale"), [["linear", "linear"], ["log", "log"]],
                             (scale) => showAs({log: scale === "log"}));
  choices.limits = new Choice(at("limits"), [["auto", "as seen"], ["fixed", "fixed"]],
                              (limits) => showAs({auto: limits === "auto"}));
}

function connectControls() {
  const on = (id, kind, deed) => at(id).addEventListener(kind, ({target}) => deed(target));
  on("field", "change", ({value}) => setField(value));
  on("component", "change", ({value}) => setComponent(value === "magnitude" ? value : Number(value)));
  for (const id of ["position", "position_number"])
    on(id, "input", ({valueAsNumber}) => setPosition(valueAsNumber));
  on("step", "input", ({valueAsNumber}) => setStep(valueAsNumber));
  for (const id of ["reversed", "smooth"]) on(id, "change", ({checked}) => showAs({[id]: checked}));
  for (const id of ["low", "high"]) on(id, "change", setLimits);
  on("play", "click", play);
  on("follow", "change", ({checked}) => checked && setStep(dataset.steps.length - 1));
}

function connectHands() {
  const lookWhere = (x, y) => { pointer = [x, y]; look(); };
  followPointer(at("picture"), {look: lookWhere, zoom, pan, whole: () => setWindow(wholeWindow())});
  followKeys({
    ArrowLeft: () => setStep(state.step - 1),
    ArrowRight: () => setStep(state.step + 1),
    ArrowUp: () => movePosition(1),
    ArrowDown: () => movePosition(-1),
    " ": play,
    x: () => setAxis(0),
    y: () => setAxis(1),
    z: () => setAxis(2),
    f: () => setField(nextOf(dataset.fields.map(({name}) => name), state.field)),
    c: () => showAs({map: nextOf(Object.keys(colourMaps), state.map)}),
    l: () => showAs({log: !isLog()}),
    s: () => showAs({smooth: !state.smooth}),
    r: limitsFromShown,
    "+": () => zoomMiddle(1.5),
    "=": () => zoomMiddle(1.5),
    "-": () => zoomMiddle(1 / 1.5),
    0: () => setWindow(wholeWindow()),
  });
  new ResizeObserver(resize).observe(at("picture"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn && redraw());
}

const unlike = (a, b) =>
  ["box", "fields", "strides"].some((k) => JSON.stringify(a[k]) !== JSON.stringify(b[k]));
let isLost = false;

// While following, the newest step is shown.
async function poll() {
  try {
    const found = await describe(), before = dataset;
    if (unlike(found, before)) return void location.reload();
    dataset = found;
    if (found.steps.length !== before.steps.length) come(found.steps.length);
    if (isLost) note("");
    isLost = false;
  } catch (error) {
    isLost = true;
    note(reason(error));
  }
  setTimeout(poll, pollMilliseconds);
}

function come(steps) {
  document.documentElement.dataset.steps = steps;
  if (at("follow").checked && !playing) setStep(steps - 1);
  else showAs({step: Math.min(state.step, steps - 1)});
}

async function begin() {
  try {
    dataset = await describe();
  } catch (error) {
    note(reason(error));
    return;
  }
  makeChoices();
  connectControls();
  connectHands();
  fill(at("field"), dataset.fields.map(({name}) => [name, name]));
  lookAt({field: dataset.fields[0].name, step: dataset.steps.length - 1,
           positions: dataset.box.map(([lo, hi]) => Math.floor((lo + hi) / 2))});
  setTimeout(poll, pollMilliseconds);
}

begin();
