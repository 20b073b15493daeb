// Sliders for the numbers that a graph begins with: values and gradients are computed again here, by the lines that
// ../scalar_program.py wrote from the rules of the engine ("%3 = multiply x0 %1").
const sign = Math.sign, numberOf = Number;
const WORDS = { add: (a, b) => a + b, subtract: (a, b) => a - b, multiply: (a, b) => a * b, true_divide: (a, b) => a / b, negative: (a) => -a,
  absolute: Math.abs, square: (a) => a * a, sqrt: Math.sqrt, reciprocal: (a) => 1 / a, pow: (a, b) => a ** b, exp: Math.exp, exp2: (a) => 2 ** a,
  expm1: Math.expm1, log: Math.log, log2: Math.log2, log10: Math.log10, log1p: Math.log1p, sin: Math.sin, cos: Math.cos, tan: Math.tan,
  sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh, arcsin: Math.asin, arccos: Math.acos, arctan: Math.atan, arcsinh: Math.asinh,
  arccosh: Math.acosh, arctanh: Math.atanh, arctan2: Math.atan2, hypot: Math.hypot, sigmoid: (a) => 1 / (1 + Math.exp(-a)), floor: Math.floor,
  ceil: Math.ceil, trunc: Math.trunc, real_sign: sign, complex_sign: sign, maximum: Math.max, minimum: Math.min, where: (c, a, b) => (c ? a : b),
  equal: (a, b) => numberOf(a === b), not_equal: (a, b) => numberOf(a !== b), less: (a, b) => numberOf(a < b), less_equal: (a, b) => numberOf(a <= b),
  greater: (a, b) => numberOf(a > b), greater_equal: (a, b) => numberOf(a >= b), bitwise_and: (a, b) => a & b, bitwise_or: (a, b) => a | b,
  logaddexp: (a, b) => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b))) };

// As the engine prints it: at most `digits` digits that count, and an exponent of at least two digits.
function shortNumber(v, digits = 4) {
  if (!Number.isFinite(v)) return Number.isNaN(v) ? "nan" : v > 0 ? "inf" : "-inf";
  if (v === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(Number(v.toPrecision(digits)))));
  if (size >= -4 && size < digits) return String(Number(v.toPrecision(digits)));
  const [head, power] = v.toExponential(digits - 1).split("e");
  return Number(head) + "e" + power[0] + power.slice(1).padStart(2, "0");
}

class ScalarProgram {
  constructor(data) {
    this.data = data;
    this.lines = data.lines.map((line) => { const [name, , word, ...operands] = line.split(" "); return [name, WORDS[word], operands]; });
    this.inputs = data.leaves.map((leaf) => leaf[2]);
  }

  // Whether every word is known and the numbers that were recorded come out.
  agrees(nodes) {
    if (this.lines.some(([, word]) => !word)) return false;
    const at = this.run();
    return Object.entries(this.data.values).every(([k, name]) => {
      const told = Number(nodes[k].v), own = at(name);
      return nodes[k].v == null || Math.abs(told - own) <= 2e-3 * Math.max(Math.abs(own), 1e-6) || (Number.isNaN(told) && Number.isNaN(own));
    });
  }

  run() {
    const known = new Map(this.data.leaves.map((leaf, k) => [leaf[3], this.inputs[k]]));
    const at = (name) => { const v = known.get(name); return v !== undefined ? v : name === "True" ? 1 : name === "False" ? 0 : Number(name.replace("inf", "Infinity")); };
    for (const [name, word, operands] of this.lines) known.set(name, numberOf(word(...operands.map(at))));
    return at;
  }
}

// The sliders under a step-through, where its graph is one of numbers.
function addSliders(player, data) {
  const program = new ScalarProgram(data), nodes = player.view.data.nodes;
  if (!program.agrees(nodes)) return null;
  const box = el("fieldset", { class: "sliders" }, el("legend", {}, "Change the inputs"));
  const first = [...program.inputs];
  const rows = data.leaves.slice(0, 8).map(([, name, value], k) => {
    const reach = Math.max(3, 2 * Math.abs(value)), unit = 10 ** Math.floor(Math.log10(reach / 50)), shown = el("output", { class: "mono" }, shortNumber(value));
    const slider = el("input", { type: "range", min: Math.round((value - reach) / unit) * unit, max: Math.round((value + reach) / unit) * unit, step: unit, "aria-label": `Value of ${name}`,
      oninput: () => { program.inputs[k] = Number(slider.value); shown.textContent = shortNumber(program.inputs[k]); renew(); } });
    slider.value = value;
    box.append(el("label", {}, el("span", { class: "mono" }, name), slider, shown));
    return [slider, shown];
  });
  const renew = () => { fillIn(player.steps, data, program, nodes); player.tally(); player.view.measure(); player.view.relayout(); player.go(player.at); };
  box.append(el("button", { type: "button", onclick: () => {
    program.inputs = [...first];
    rows.forEach(([slider, shown], k) => { slider.value = first[k]; shown.textContent = shortNumber(first[k]); });
    renew();
  } }, "Reset"));
  player.view.container.append(box);
  return { program, box };
}

// Put new numbers into the steps, where the recorded ones stand.
function fillIn(steps, data, program, nodes) {
  const at = program.run(), text = (name) => shortNumber(at(name)), arrived = new Map(), runs = [...data.runs];
  for (const [k, name] of Object.entries(data.values)) nodes[k].v = text(name);
  for (const [k, name] of Object.entries(data.grads)) if (nodes[k].r != null) nodes[k].r = text(name);
  const note = (k, line) => { if (!arrived.has(k)) arrived.set(k, []); arrived.get(k).push(line); };
  for (const step of steps) {
    if (step.p === "forward") {
      step.rows.forEach((row, k) => { const from = step.from[k]; if (from != null && data.values[from] !== undefined) row[1] = text(data.values[from]); });
      step.out = step.v = text(data.values[step.i]);
      for (const e of step.e) if (data.values[e[2]] !== undefined) e[1] = text(data.values[e[2]]);
      continue;
    }
    const run = runs.length && runs[0].i === step.i ? runs.shift() : null;
    const own = arrived.get(step.i);
    if (own) step.sums.forEach((row, k) => { row[1] = own[k]; });
    if (step.r != null) step.r = text(data.grads[step.i]);
    if (step.total != null) step.total = text(data.grads[step.i]);
    if (!run) continue;
    step.parts.forEach((part, j) => {
      const link = step.links[j], { k, to } = link, sent = text(run.sent[k]);
      for (const row of part[1]) if (row[0] === "local derivative") row[1] = text(run.local[k]); else if (row[0] === "sends") row[1] = sent;
      Object.assign(link, { g: text(run.total), d: text(run.local[k]), s: sent });
      step.e[j][1] = sent;
      note(to, sent);
    });
  }
}
