"use strict";
/* Numbers that stand in the page as base 64 of little-endian arrays, and how they are told. */
const FORMS = {u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array};

function unpack(text, form) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return new FORMS[form](bytes.buffer);
}

function rounded(value, digits) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)));
}

function timeText(ns, digits = 4) {
  const size = Math.abs(ns);
  const [unit, factor] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
  return rounded(ns / factor, digits) + " " + unit;
}

function bytesText(value) {
  const size = Math.abs(value);
  const [unit, factor] = size >= 2 ** 30 ? ["GiB", 2 ** 30] : size >= 2 ** 20 ? ["MiB", 2 ** 20] : size >= 1024 ? ["KiB", 1024] : ["B", 1];
  return rounded(value / factor, 3) + " " + unit;
}

function valueText(value, unit) {
  if (unit === "bytes") return bytesText(value);
  if (unit === "bytes/s") return bytesText(value) + "/s";
  if (unit === "share") return rounded(100 * value, 3) + " %";
  return rounded(value, 3) + (unit ? " " + unit : "");
}

/* First place of a sorted array whose value is not below what is looked for. */
function firstFrom(values, least) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < least) low = middle + 1; else high = middle;
  }
  return low;
}

/* Colours that stay apart for every common kind of colour vision come first. */
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#b5a300", "#8a7fd6", "#33a02c", "#b15928", "#1f9fa8", "#c2556b"];

function swarmColour(number) {
  return number < PALETTE.length ? PALETTE[number] : `hsl(${(number * 137.5) % 360} 42% ${isDark.matches ? 62 : 50}%)`;
}

function hashOf(text) {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return value >>> 0;
}

const page = JSON.parse(document.getElementById("data").textContent);
const isDark = matchMedia("(prefers-color-scheme: dark)");

function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function nameColour(name, muted) {
  const value = hashOf(name);
  return `hsl(${value % 360} ${muted ? 18 : 48 + (value >> 9) % 20}% ${isDark.matches ? 58 : 56}%)`;
}
