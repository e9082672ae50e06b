// SPDX-License-Identifier: BSD-3-Clause
// Numbers for people: texts, ticks, and the scale from values to places between 0 and 1.

const raised = (power) =>
  [...power].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");
const minus = (text) => text.replace(/-/g, "−");

function shown(value, digits = 5) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "no number" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) {
    const [factor, power] = value.toExponential(digits - 1).split("e");
    const short = factor.includes(".") ? factor.replace(/\.?0+$/, "") : factor;
    return minus(short === "1" ? "10" : `${short}×10`) + raised(String(Number(power)));
  }
  return minus(String(Number(value.toPrecision(digits))));
}

const unitText = (units) => units.replace(/\^(-?\d+)/g, (_, power) => raised(power));

function linearTicks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough * 0.999);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; ++n)
    ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high, most) {
  const from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9);
  if (to - from < 1) return linearTicks(low, high, most);
  const every = Math.max(1, Math.ceil((to - from) / most));
  const ticks = [];
  for (let power = from; power <= to; power += every) ticks.push(10 ** power);
  return ticks;
}

// Between the powers of ten, where these are few.
function minorTicks(low, high) {
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high)), ticks = [];
  for (let power = from; power < to && to - from < 10; ++power)
    for (let n = 2; n < 10; ++n) ticks.push(n * 10 ** power);
  return ticks.filter((tick) => low <= tick && tick <= high);
}

// Where values are between two limits; what a logarithm has no place for is NaN.
class Scale {
  constructor(low, high, log) {
    this.low = low;
    this.high = high;
    this.log = log && high > 0;
    if (this.log) this.low = Math.max(low, high * 1e-12) || high * 1e-12;
    this.from = this.log ? Math.log(this.low) : this.low;
    this.width = (this.log ? Math.log(high) : high) - this.from;
  }
  place(value) {
    const at = this.log ? (value > 0 ? Math.log(value) : NaN) : value;
    return this.width > 0 ? (at - this.from) / this.width : 0.5 + 0 * at;
  }
  ticks(most) {
    if (!(this.width > 0)) return [this.low];
    return (this.log ? logTicks : linearTicks)(this.low, this.high, most);
  }
}
