// SPDX-License-Identifier: BSD-3-Clause
// The picture: slices one upon the other, the finest on top, within axes, and the bar of colours.

const margins = {left: 66, right: 112, top: 14, bottom: 46};
const bar = {gap: 22, width: 16};
const mostLayers = 12;
const mostStretch = 8; // beyond that, the sides of a picture are no longer to scale

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.layers = [];
  }

  // Where on the canvas a window of the plane is, both sides to scale where they can be.
  layout(view) {
    const width = this.canvas.clientWidth - margins.left - margins.right;
    const height = this.canvas.clientHeight - margins.top - margins.bottom;
    const [u, v] = view.window.map(([lo, hi], n) => (hi - lo) * view.spacing[n]);
    const ratio = Math.min(Math.max(u / v, 1 / mostStretch), mostStretch);
    const w = Math.max(20, Math.min(width, height * ratio));
    const h = Math.max(20, Math.min(height, width / ratio));
    const x = margins.left + Math.max(0, (width - w) / 2);
    const y = margins.top + Math.max(0, (height - h) / 2);
    return {x, y, w, h};
  }

  // Coordinates in the plane of a point of the canvas, and back.
  coordinates(view, x, y) {
    const at = this.layout(view), [us, vs] = view.window;
    return [us[0] + (x - at.x) / at.w * (us[1] - us[0]),
            vs[0] + (at.y + at.h - y) / at.h * (vs[1] - vs[0])];
  }
  place(view, u, v) {
    const at = this.layout(view), [us, vs] = view.window;
    return [at.x + (u - us[0]) / (us[1] - us[0]) * at.w,
            at.y + at.h - (v - vs[0]) / (vs[1] - vs[0]) * at.h];
  }

  // The finest sample at a place, or null.
  sampleAt(u, v) {
    for (const {slice} of this.layers.toReversed()) {
      const i = Math.floor((u - slice.origin[0]) / slice.stride[0]);
      const j = Math.floor((v - slice.origin[1]) / slice.stride[1]);
      if (i < 0 || j < 0 || i >= slice.width || j >= slice.height) continue;
      const at = [i, j].map((n, axis) => slice.origin[axis] + n * slice.stride[axis]);
      return {value: slice.values[j * slice.width + i], slice, at};
    }
    return null;
  }

  // Puts a slice among the others; what is no finer and within it goes away.
  add(slice) {
    const spread = (of) => of.stride[0] * of.stride[1];
    const hides = (old) => spread(slice) <= spread(old) &&
      old.window.every(([lo, hi], n) => slice.window[n][0] <= lo && hi <= slice.window[n][1]);
    this.layers = this.layers.filter((layer) => !hides(layer.slice)).slice(-mostLayers);
    this.layers.push({slice});
    this.layers.sort((a, b) => spread(b.slice) - spread(a.slice));
  }

  #image(layer, {scale, palette}) {
    const colours = [scale.low, scale.high, scale.log, palette[0], palette[64], palette[255]].join();
    if (layer.colours !== colours)
      Object.assign(layer, {colours, image: coloured(layer.slice, scale, palette)});
    return layer.image;
  }

  draw(view) {
    const ratio = window.devicePixelRatio || 1, {clientWidth, clientHeight} = this.canvas;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    const to = this.canvas.getContext("2d");
    to.scale(ratio, ratio);
    to.clearRect(0, 0, clientWidth, clientHeight);
    const style = getComputedStyle(this.canvas);
    const ink = {soft: style.getPropertyValue("--soft"), faint: style.getPropertyValue("--faint"),
                 none: style.getPropertyValue("--none"), font: style.fontFamily};
    const at = this.layout(view);
    this.#values(to, view, at, ink);
    this.#axes(to, view, at, ink);
    this.#bar(to, view, at, ink);
  }

  #values(to, view, at, ink) {
    to.save();
    to.beginPath();
    to.rect(at.x, at.y, at.w, at.h);
    to.clip();
    to.fillStyle = ink.none;
    to.fillRect(at.x, at.y, at.w, at.h);
    to.strokeStyle = ink.faint; // hatched where there is no value
    for (let x = at.x - at.h; x < at.x + at.w; x += 8) line(to, x, at.y + at.h, x + at.h, at.y);
    to.imageSmoothingEnabled = view.smooth;
    to.imageSmoothingQuality = "high";
    for (const layer of this.layers) {
      const {origin: [u, v], stride, width, height} = layer.slice;
      const [left, bottom] = this.place(view, u, v);
      const [right, top] = this.place(view, u + width * stride[0], v + height * stride[1]);
      to.drawImage(this.#image(layer, view), left, top, right - left, bottom - top);
    }
    to.restore();
  }

  #axes(to, view, at, ink) {
    to.strokeStyle = ink.faint;
    to.fillStyle = ink.soft;
    to.font = `12px ${ink.font}`;
    to.strokeRect(at.x - 0.5, at.y - 0.5, at.w + 1, at.h + 1);
    const ends = view.window.map((span, n) => span.map((c) => view.physical(n, c)));
    to.textAlign = "center";
    to.textBaseline = "top";
    for (const tick of linearTicks(...ends[0], at.w / 70)) {
      const x = at.x + (tick - ends[0][0]) / (ends[0][1] - ends[0][0]) * at.w;
      line(to, x, at.y + at.h, x, at.y + at.h + 5);
      to.fillText(shown(tick), x, at.y + at.h + 8);
    }
    to.fillText(view.labels[0], at.x + at.w / 2, at.y + at.h + 27);
    if (view.labels.length < 2) return;
    to.textAlign = "right";
    to.textBaseline = "middle";
    for (const tick of linearTicks(...ends[1], at.h / 50)) {
      const y = at.y + at.h - (tick - ends[1][0]) / (ends[1][1] - ends[1][0]) * at.h;
      line(to, at.x - 5, y, at.x, y);
      to.fillText(shown(tick), at.x - 9, y);
    }
    sideways(to, view.labels[1], at.x - 52, at.y + at.h / 2);
  }

  #bar(to, view, at, ink) {
    const x = at.x + at.w + bar.gap, {scale} = view;
    const image = document.createElement("canvas");
    image.width = 1;
    image.height = 256;
    const pixels = image.getContext("2d").createImageData(1, 256);
    new Uint32Array(pixels.data.buffer).set(view.palette.toReversed());
    image.getContext("2d").putImageData(pixels, 0, 0);
    to.imageSmoothingEnabled = true;
    to.drawImage(image, x, at.y, bar.width, at.h);
    to.strokeStyle = ink.faint;
    to.strokeRect(x - 0.5, at.y - 0.5, bar.width + 1, at.h + 1);
    to.textAlign = "left";
    to.textBaseline = "middle";
    const height = (value) => at.y + at.h * (1 - scale.place(value));
    for (const tick of scale.log ? minorTicks(scale.low, scale.high) : [])
      line(to, x + bar.width, height(tick), x + bar.width + 3, height(tick));
    for (const tick of scale.ticks(at.h / 50)) {
      const y = height(tick);
      if (y < at.y - 1 || y > at.y + at.h + 1) continue;
      line(to, x + bar.width, y, x + bar.width + 5, y);
      to.fillText(shown(tick, 4), x + bar.width + 9, y);
    }
    to.textAlign = "center";
    to.textBaseline = "top";
    sideways(to, view.fieldLabel, x + bar.width + 66, at.y + at.h / 2);
  }
}

function line(to, x0, y0, x1, y1) {
  to.beginPath();
  to.moveTo(x0, y0);
  to.lineTo(x1, y1);
  to.stroke();
}

function sideways(to, text, x, y) {
  to.save();
  to.translate(x, y);
  to.rotate(-Math.PI / 2);
  to.textAlign = "center";
  to.textBaseline = "middle";
  to.fillText(text, 0, 0);
  to.restore();
}
