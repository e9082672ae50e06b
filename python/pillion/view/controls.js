// SPDX-License-Identifier: BSD-3-Clause
// Controls of the page, apart from what they mean.

const at = (id) => document.getElementById(id);
const choices = {}; // those of the page, by name

function fill(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
}

// Buttons; one of them is on. `choose` is called with the value of the one that was pressed.
class Choice {
  constructor(place, entries, choose) {
    this.buttons = entries.map(([value, content, title]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("role", "radio");
      button.dataset.value = value;
      button.append(content);
      if (title) button.title = title;
      button.addEventListener("click", () => choose(value));
      return button;
    });
    place.replaceChildren(...this.buttons);
  }
  set value(value) {
    for (const button of this.buttons)
      button.setAttribute("aria-checked", String(button.dataset.value === String(value)));
  }
}

// A button's content that shows a colour map.
function swatch(name) {
  const canvas = document.createElement("canvas");
  canvas.width = 256;
  canvas.height = 1;
  const context = canvas.getContext("2d"), image = context.createImageData(256, 1);
  new Uint32Array(image.data.buffer).set(palette(name, false));
  context.putImageData(image, 0, 0);
  return canvas;
}

// What the pointer does on the picture, in coordinates of the plane: `look` where it is, `zoom`
// about a point, `pan` by a distance, `whole` for all of it.
function followPointer(canvas, does) {
  let held = null;
  const point = (event) => [event.offsetX, event.offsetY];
  canvas.addEventListener("pointermove", (event) => {
    if (held) {
      const [x, y] = point(event);
      does.pan(x - held[0], y - held[1]);
      held = [x, y];
    }
    does.look(...point(event));
  });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held = point(event);
  });
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, () => { held = null; });
  canvas.addEventListener("pointerleave", () => does.look(NaN, NaN));
  canvas.addEventListener("dblclick", () => does.whole());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const turn = Math.min(Math.max(event.deltaY, -100), 100);
    does.zoom(Math.exp(-turn / 300), ...point(event));
  }, {passive: false});
}

// Keys, unless the user types in a field or a control uses them.
function followKeys(does) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const {target} = event;
    if (target.matches("input[type=text], input[type=number], select")) return;
    const arrow = event.key.startsWith("Arrow");
    if (arrow && target.matches("input[type=range]")) return;
    if (event.key === " " && target.matches("button, input, summary")) return;
    const deed = does[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  });
}
