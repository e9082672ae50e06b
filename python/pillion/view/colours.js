// SPDX-License-Identifier: BSD-3-Clause
// Colour maps, and pictures of values coloured by them.

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const colourMaps = Object.fromEntries(
  Object.entries(JSON.parse(document.getElementById("colour_maps").textContent))
    .map(([name, text]) => [name, bytes(text)]));
const diverging = "blue to red";

// 256 colours as whole pixels; canvases keep red in the lowest byte.
function palette(name, reversed) {
  const rgb = colourMaps[name];
  return Uint32Array.from({length: 256}, (_, n) => {
    const at = 3 * (reversed ? 255 - n : n);
    return (255 << 24 | rgb[at + 2] << 16 | rgb[at + 1] << 8 | rgb[at]) >>> 0;
  });
}

// A canvas with a pixel for each value, the first row of values at the bottom. What is no number,
// or has no place on the scale, is left clear.
function coloured(slice, scale, colours) {
  const canvas = document.createElement("canvas");
  canvas.width = slice.width;
  canvas.height = slice.height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(slice.width, slice.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let v = 0; v < slice.height; ++v) {
    let to = (slice.height - 1 - v) * slice.width;
    for (let from = v * slice.width; from < (v + 1) * slice.width; ++from, ++to) {
      const at = scale.place(slice.values[from]);
      pixels[to] = at === at ? colours[at <= 0 ? 0 : at >= 1 ? 255 : Math.floor(at * 256)] : 0;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function extremes(values) {
  let low = Infinity, high = -Infinity, positive = Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
    if (value > 0 && value < positive) positive = value;
  }
  return {low, high, positive};
}

const together = (a, b) => (a ? {low: Math.min(a.low, b.low), high: Math.max(a.high, b.high),
                                 positive: Math.min(a.positive, b.positive)} : b);
