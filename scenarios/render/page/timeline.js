"use strict";
// Plays a run's packets over the drawing of its network. All data are in the page; nothing is loaded.
// Packets start and end at knots (a, b): t[k] is the virtual time of knot k, p[k] its place while it plays.
(() => {
  const data = JSON.parse(document.getElementById("timeline-data").textContent);
  const at = (id) => document.getElementById(id);
  const [CAPTURED, SEALED, MISSED, REPEAT, LOST, AWAY, DROPPED, COPY, BREAK] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
  const KINDS = ["exchange", "direct message", "acknowledgement"];
  const PER_SECOND = 1.1, LANES = 220; // places a second at speed 1; packets that one view of the lanes may show
  const player = at("player"), net = player.querySelector(".net"), moving = at("net-moving"), lanes = at("lanes");
  const agents = [...at("net-agents").children], links = [...at("net-links").children];
  const labels = new Map([...agents, ...links].map((e) => [e, e.getAttribute("aria-label")]));
  const spots = agents.map((e) => { const m = e.transform.baseVal[0].matrix; return [m.e, m.f]; });
  const reach = 4 + agents[0].querySelector(".ring").r.baseVal.value; // a packet starts and ends at an agent's rim
  const small = net.classList.contains("many");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let axis = { apart: 0, unit: [1, "s"] }, run, place = 0, playing = false, before = 0, steps = [], view = null, dots = new Map();

  const shape = (name, attributes = {}, parent = null, text = null) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };
  const short = (x) => (x === 0 ? "0" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e6
    ? String(Number(x.toPrecision(4))) : x.toExponential(2)).replace("-", "−");
  const bytes = (x) => (x < 1e3 ? `${x} bytes` : x < 1e6 ? `${short(x / 1e3)} kB` : `${short(x / 1e6)} MB`);

  // ── time ────────────────────────────────────────────────────────────────────────────────────────────
  const from = (i) => run.p[run.a[i]];
  const lost = (i) => run.b[i] < 0;
  const to = (i) => (lost(i) ? from(i) + 1 : run.p[run.b[i]]); // one that never arrives fades after a usual flight
  const last = () => Math.max(run.p[run.p.length - 1], ...steps.slice(-1)) + 0.6;
  const timeOf = (p) => { // between two knots time passes evenly
    let low = 0, high = run.p.length - 1;
    if (p >= run.p[high]) return run.t[high];
    while (high - low > 1) { const k = (low + high) >> 1; if (run.p[k] <= p) low = k; else high = k; }
    const span = run.p[high] - run.p[low];
    return run.t[low] + (span > 0 ? Math.max(0, (p - run.p[low]) / span) : 0) * (run.t[high] - run.t[low]);
  };
  const timeless = () => run.t[run.t.length - 1] === run.t[0]; // no link takes time: the order is all there is
  const said = (time) => { // one unit and one notation in a view of the lanes, to a hundredth of what it spans
    const [factor] = axis.unit, scaled = axis.apart * factor;
    const digits = scaled > 0 ? Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(scaled)))) : 3;
    return (time * factor).toFixed(digits).replace("-", "−");
  };
  const stepAt = (p) => run.p.filter((one) => one <= p + 1e-9).length; // knots so far, from 1
  const placeOf = (time) => { // the place of the first knot that is not before a time
    const k = run.t.findIndex((t) => t >= time);
    return k < 0 ? null : run.p[k];
  };

  // ── words ───────────────────────────────────────────────────────────────────────────────────────────
  const what = (i) => {
    const f = run.f[i], again = f & REPEAT ? `, attempt ${run.y[i] + 1}` : f & COPY ? ", a copy" : "";
    const fate = f & LOST ? ", lost" : f & DROPPED ? ", dropped: the buffer is full" : f & AWAY ? ", under way at the end" : "";
    const ear = f & CAPTURED ? "captured" : f & SEALED ? "size and time captured" : f & MISSED ? "missed by the tap" : "not captured";
    const name = run.k[i] === 2 ? KINDS[2] : `${KINDS[run.k[i]]} ${run.n[i]}`;
    return `${run.s[i]} → ${run.r[i]}: ${name}${again}${fate} (${ear})${f & BREAK ? `, ${run.break.says}` : ""}`;
  };

  // ── the drawing ─────────────────────────────────────────────────────────────────────────────────────
  const dot = (i) => { // what moves: its form says what it is, the line around it what the tap made of it
    const f = run.f[i], r = small ? 0.5 : 1, made = shape("g", { class: "moving", "data-packet": i }, moving);
    if (f & BREAK) shape("circle", { class: "halo", r: 13 * r }, made);
    if (f & CAPTURED) shape("circle", { class: "ear yes", r: 8 * r }, made);
    if (f & SEALED) shape("circle", { class: "ear sealed", r: 8 * r }, made);
    if (f & MISSED) shape("path", { class: "ear missed", d: `M${-8 * r} 0a${8 * r} ${8 * r} 0 0 1 ${16 * r} 0` }, made);
    const look = `packet${run.k[i] === 2 ? " ack" : ""}${f & BREAK ? " breaks" : ""}`;
    if (run.k[i] === 2) shape("circle", { class: look, r: 3.6 * r }, made);
    else if (f & (REPEAT | COPY)) shape("path", { class: look, d: `M0 ${-7 * r}l${7 * r} ${7 * r}l${-7 * r} ${7 * r}l${-7 * r} ${-7 * r}z` }, made);
    else shape("circle", { class: look, r: 5.4 * r }, made);
    if (lost(i)) shape("path", { class: "packet lost", visibility: "hidden", d: `M${-6 * r} ${-6 * r}l${12 * r} ${12 * r}m0 ${-12 * r}l${-12 * r} ${12 * r}` }, made);
    return made;
  };
  const drawMoving = () => {
    const there = new Set();
    let count = 0;
    for (let i = 0; i < run.a.length && from(i) <= place; i++) {
      if (place >= to(i)) continue;
      there.add(i);
      count += 1;
      let share = (place - from(i)) / (to(i) - from(i));
      if (still.matches) share = 0.5; // nothing moves: a packet is shown midway
      const made = dots.get(i) ?? dot(i), [x0, y0] = spots[run.s[i]], [x1, y1] = spots[run.r[i]];
      dots.set(i, made);
      const far = lost(i) ? Math.min(share, 0.55) : share; // a lost one stops midway and fades
      const rim = Math.min(0.4, reach / Math.hypot(x1 - x0, y1 - y0)), on = rim + far * (1 - 2 * rim); // never over a number
      made.setAttribute("transform", `translate(${(x0 + on * (x1 - x0)).toFixed(1)} ${(y0 + on * (y1 - y0)).toFixed(1)})`);
      if (lost(i)) {
        const gone = still.matches || share > 0.55;
        made.lastChild.setAttribute("visibility", gone ? "visible" : "hidden");
        made.setAttribute("opacity", share > 0.55 ? (2.2 * (1 - share)).toFixed(2) : 1);
      }
    }
    for (const [i, made] of dots) if (!there.has(i)) { made.remove(); dots.delete(i); }
    return [...there];
  };
  const drawDown = (time) => agents.forEach((e, agent) => {
    e.classList.toggle("down", run.d.some(([who, since, until]) => who === agent && time >= since && (until === null || time < until)));
  });

  // ── the lanes ───────────────────────────────────────────────────────────────────────────────────────
  const drawLanes = () => {
    const wide = Math.max(280, at("lanes-box").clientWidth), row = agents.length > 20 ? 9 : agents.length > 9 ? 15 : 22;
    const left = run.m.length && run.u === null ? 42 : 26, top = run.m.length ? 34 : 20, high = top + row * agents.length + 24;
    const span = Math.min(last(), wide / 42, Math.max(3, (LANES * last()) / run.a.length));
    const first = Math.floor(place / span) * span, key = `${run.name}|${first}|${wide}`;
    const x = (p) => left + ((p - first) / span) * (wide - left - 8), y = (agent) => top + row * (agent + 0.5);
    if (view !== key) {
      view = key;
      lanes.replaceChildren();
      lanes.setAttribute("viewBox", `0 0 ${wide} ${high}`);
      for (let agent = 0; agent < agents.length; agent++) {
        shape("path", { class: "lane", d: `M${left} ${y(agent)}H${wide}` }, lanes);
        if (row > 10 || agent % 5 === 0) shape("text", { x: left - 6, y: y(agent) + 4, "text-anchor": "end" }, lanes, agent);
      }
      for (const [agent, since, until] of run.d) {
        const a = placeOf(since), b = until === null ? last() : placeOf(until) ?? last();
        if (a !== null && b > first && a < first + span) {
          const x0 = x(Math.max(a, first)), x1 = x(Math.min(b, first + span));
          shape("rect", { class: "down", x: x0, y: y(agent) - row / 2, width: x1 - x0, height: row }, lanes);
        }
      }
      ticks(first, span, x, top, high);
      marks(first, span, x, top, high, wide);
      const clip = shape("clipPath", { id: "lanes-clip" }, lanes), ways = shape("g", { "clip-path": "url(#lanes-clip)" }, lanes);
      let count = 0;
      shape("rect", { x: left, y: 0, width: wide - left, height: high }, clip);
      for (let i = 0; i < run.a.length; i++) if (to(i) >= first && from(i) <= first + span) { way(i, x, y, ways); count += 1; }
      ways.setAttribute("class", count > LANES ? "dense" : "");
      if (run.hit !== null && from(run.hit) >= first && from(run.hit) <= first + span) {
        const where = x(from(run.hit)), who = run.u === null ? `agent ${run.break.agent}, round` : "activation";
        const later = run.u === null ? run.m.filter(([p, k]) => k > run.break.activation && p <= from(run.hit) + 1e-9) : [];
        const [begun, newest] = later[later.length - 1] ?? [0, 0];
        const late = !newest ? "" : begun < from(run.hit) - 1e-9 ? ` (others are in ${newest})` : ` (${newest} begins at once)`;
        shape("path", { class: "break", d: `M${where} ${top - 4}V${high - 20}` }, lanes);
        const label = shape("text", { class: "break-text", x: where + 5, y: 12 }, lanes, `${who} ${run.break.activation}${late}: ${run.break.says}`);
        const whose = lanes.querySelector(".whose"), clear = whose ? whose.getBBox().x + whose.getBBox().width + 10 : 0;
        const begins = Math.max(0, Math.min(Math.max(where + 5, clear), wide - label.getBBox().width)); // the line begins beneath it
        label.setAttribute("x", begins);
        if (begins < clear) whose.remove(); // no room for both
      }
      shape("path", { class: "playhead", id: "playhead" }, lanes);
    }
    at("playhead").setAttribute("d", `M${x(place).toFixed(1)} ${top - 4}V${high - 20}`);
  };
  const ticks = (first, span, x, top, high) => {
    const seen = run.t.filter((_, k) => run.p[k] >= first && run.p[k] <= first + span), more = first + span < last();
    const apart = seen.length ? seen[seen.length - 1] - seen[0] : 0, end = x(first + span) - (more ? 12 : 0);
    axis = { apart, unit: apart < 1e-3 ? [1e6, "µs"] : apart < 1 ? [1e3, "ms"] : [1, "s"] };
    shape("text", { x: 2, y: high - 6 }, lanes, timeless() ? "step" : axis.unit[1]);
    if (more) shape("text", { x: x(first + span) + 6, y: high - 6, "text-anchor": "end", "data-more": "" }, lanes, "→");
    let free = timeless() ? 34 : 24;
    run.p.forEach((p, k) => {
      const words = timeless() ? String(k + 1) : said(run.t[k]), half = 3.4 * words.length + 5;
      if (p < first || p > first + span || x(p) - half < free) return;
      free = x(p) + half;
      shape("path", { class: "tick", d: `M${x(p)} ${top}V${high - 20}` }, lanes);
      if (free < end) shape("text", { x: x(p), y: high - 6, "text-anchor": "middle" }, lanes, words);
    });
    for (const [begin, , , out] of run.w) {
      const p = from(begin) - 0.75;
      if (!out || p < first || p > first + span) continue;
      shape("path", { class: "gap", d: `M${x(p)} ${top}V${high - 20}` }, lanes);
      shape("text", { x: x(p) + 4, y: 12 }, lanes, `${out.toLocaleString("en")} left out`);
    }
  };
  const marks = (first, span, x, top, high, wide) => { // where rounds begin, or the audited agent's activations
    const there = run.m.filter(([p]) => p >= first - 1e-9 && p <= first + span);
    if (!there.length) return;
    const whose = run.u === null ? { x: 2, y: 26, class: "date-text" } : { x: 2, y: 12, class: "date-text whose" };
    shape("text", whose, lanes, run.u === null ? "round" : `agent ${run.u}: activation`);
    let free = 0;
    for (const [p, k, begins] of there) {
      const words = begins ? String(k) : `in ${k}`, long = 8 * words.length + 3;
      if (begins) shape("path", { class: "date", d: `M${x(p)} ${top - 6}V${high - 20}` }, lanes);
      const before = x(p) + long > wide; // no room after the mark
      if (before ? x(p) - long < free : x(p) < free) continue;
      shape("text", { class: "date-text", x: x(p) + (before ? -3 : 3), y: 26, "text-anchor": before ? "end" : "start" }, lanes, words);
      free = x(p) + (before ? 8 : long + 5);
    }
  };
  const roundAt = (p) => { // the round that some agent is in, of an algorithm that has rounds
    const begun = run.u === null ? run.m.filter(([from]) => from <= p + 1e-9) : [];
    return begun.length ? `, round ${begun[begun.length - 1][1]}` : "";
  };
  const way = (i, x, y, ways) => {
    const f = run.f[i], share = lost(i) ? 0.55 : 1, x0 = x(from(i)), y0 = y(run.s[i]);
    const x1 = x0 + share * (x(to(i)) - x0), y1 = y0 + share * (y(run.r[i]) - y0);
    const ear = f & CAPTURED ? " yes" : f & SEALED ? " sealed" : "";
    const look = `way${ear}${run.k[i] === 2 ? " ack" : ""}${f & (REPEAT | COPY) ? " again" : ""}${lost(i) ? " lost" : ""}`;
    shape("path", { class: look, d: `M${x0.toFixed(1)} ${y0}L${x1.toFixed(1)} ${y1.toFixed(1)}` }, ways);
    if (lost(i)) shape("path", { class: "end", d: `M${(x1 - 3).toFixed(1)} ${(y1 - 3).toFixed(1)}l6 6m0 -6l-6 6` }, ways);
  };

  // ── what it says ────────────────────────────────────────────────────────────────────────────────────
  const drawBudget = () => {
    const g = run.budget, box = at("budget");
    box.hidden = !g;
    if (!g) return;
    let k = -1;
    while (k + 1 < g.p.length && g.p[k + 1] !== null && g.p[k + 1] <= place) k += 1;
    const share = k < 0 ? 0 : g.share[k], over = share !== null && (share < 0 || share > 1);
    const claim = g.claimed === null ? "nothing is claimed" : `${g.claimed} claimed of the whole run`;
    box.textContent = `Agent ${g.agent}'s budget: exact ε so far ${k < 0 ? "0" : g.e[k]}, ${claim}${k < 0 ? "" : ` (${run.u === null ? "round" : "activation"} ${g.v[k]})`}${over ? ": above the claim " : " "}`;
    box.classList.toggle("over", over);
    if (share === null) return;
    const gauge = document.createElement("span"), spent = document.createElement("i");
    gauge.className = "gauge";
    gauge.setAttribute("aria-hidden", "true");
    spent.style.width = `${100 * (share < 0 ? 1 : Math.min(share, 1))}%`;
    gauge.append(spent);
    box.append(gauge);
  };
  const draw = () => {
    place = Math.min(Math.max(place, 0), last());
    const time = timeOf(place), shown = drawMoving(), gap = run.w.find(([begin, , , out]) => out && place < from(begin) && place > from(begin) - 1.5);
    drawDown(time);
    drawLanes();
    drawBudget();
    at("clock").textContent = gap ? `… ${gap[3].toLocaleString("en")} packets left out` : (timeless() ? `t = ${short(time)} s, step ${stepAt(place)}` : `t = ${said(time)} ${axis.unit[1]}`) + roundAt(place);
    const named = shown.slice().sort((i, j) => (run.f[j] & BREAK) - (run.f[i] & BREAK) || from(j) - from(i));
    at("now").textContent = named.slice(0, 2).map(what).join("; ") + (named.length > 2 ? `; and ${named.length - 2} more` : "") || "Nothing is on its way.";
    at("scrub").value = place;
    at("scrub").setAttribute("aria-valuetext", at("clock").textContent);
    player.dataset.place = place.toFixed(3);
    player.dataset.time = time;
  };

  // ── what a reader does ──────────────────────────────────────────────────────────────────────────────
  const frame = (now) => {
    if (!playing) return;
    const pace = PER_SECOND * Number(at("speed").value), passed = (now - before) / 1000;
    if (!still.matches) { place += Math.min(passed, 0.1) * pace; before = now; draw(); }
    else if (passed > 0.9 / pace) { before = now; step(1); } // without motion: from one picture to the next
    if (place >= last() - 1e-9) play(false);
    else requestAnimationFrame(frame);
  };
  const play = (on) => {
    playing = on;
    at("play").textContent = on ? "❚❚ Pause" : "▶ Play";
    at("play").setAttribute("aria-pressed", on);
    at("now").setAttribute("aria-live", on ? "off" : "polite");
    player.dataset.playing = on;
    if (!on) return;
    if (place >= last() - 1e-9) place = 0;
    before = performance.now();
    requestAnimationFrame(frame);
  };
  const step = (direction) => { // to the middle between two knots: what is on its way is seen there
    const next = direction > 0 ? steps.find((p) => p > place + 1e-3) : steps.findLast((p) => p < place - 1e-3);
    place = next ?? (direction > 0 ? last() : 0);
    draw();
  };
  const go = (p) => { play(false); place = p; draw(); };
  const toBreak = () => { if (run.hit !== null) { go(from(run.hit) + 0.45 * (to(run.hit) - from(run.hit))); player.dataset.packet = run.hit; } };
  const keys = {
    " ": () => play(!playing), ArrowRight: () => { play(false); step(1); }, ArrowLeft: () => { play(false); step(-1); },
    Home: () => go(0), End: () => go(last()), b: toBreak, B: toBreak,
  };
  at("timeline").addEventListener("keydown", (event) => {
    const name = event.target.tagName;
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    if (name === "SELECT" || (name === "BUTTON" && event.key === " ")) return; // they have a use for the key
    event.preventDefault();
    keys[event.key]();
  });
  at("play").addEventListener("click", () => play(!playing));
  at("back").addEventListener("click", () => keys.ArrowLeft());
  at("forth").addEventListener("click", () => keys.ArrowRight());
  at("to-break").addEventListener("click", toBreak);
  at("scrub").addEventListener("input", (event) => go(Number(event.target.value)));
  document.addEventListener("visibilitychange", () => { if (document.hidden) play(false); });
  new ResizeObserver(() => drawLanes()).observe(at("lanes-box"));

  // ── links and agents ────────────────────────────────────────────────────────────────────────────────
  const measured = (l, name) => l.bytes.map((b, k) => (b === null ? null
    : name === "loss" ? (l.packets[k] ? l.lost[k] / l.packets[k] : 0) : l[name][k]));
  const words = (l, k) => (l.packets[k] === null ? "" : `: ${l.packets[k].toLocaleString("en")} packets, ${bytes(l.bytes[k])}; `
    + `${l.packets[k] ? short((100 * l.lost[k]) / l.packets[k]) : 0} % lost; ${l.repeated[k].toLocaleString("en")} repeated`
    + (l.delay[k] === null ? "" : `; mean delay ${short(l.delay[k])} s`));
  const drawMeasures = () => {
    const values = measured(run.links, at("choose-measure").value), most = Math.max(...values.map((v) => v ?? 0));
    const rings = run.agents[at("choose-skill")?.value] ?? null, by = run.links.by === "link";
    links.forEach((e, k) => {
      e.style.setProperty("--w", by && most > 0 ? ((values[k] ?? 0) / most).toFixed(3) : 0);
      e.setAttribute("aria-label", labels.get(e) + (by ? words(run.links, k) : ""));
    });
    agents.forEach((e, k) => {
      const [level, said] = rings ? rings[k] : [null, "not attacked here"];
      e.querySelector(".ring").setAttribute("stroke-dasharray", `${level === null ? 0 : 100 * level} 100`);
      e.querySelector(".ring").style.strokeDasharray = `${level === null ? 0 : 100 * level} 100`;
      e.setAttribute("aria-label", `${labels.get(e)}: ${said}${by ? "" : words(run.links, k).replace(": ", "; it sent ")}`);
    });
  };
  const tell = (event) => { at("info-text").textContent = event.currentTarget.getAttribute("aria-label"); };
  const hush = () => { at("info-text").textContent = ""; };
  for (const e of [...links, ...agents]) {
    for (const kind of ["mouseenter", "focus"]) e.addEventListener(kind, tell);
    for (const kind of ["mouseleave", "blur"]) e.addEventListener(kind, hush);
  }

  // ── an algorithm ────────────────────────────────────────────────────────────────────────────────────
  const choose = (k) => {
    play(false);
    run = data.algorithms[k];
    run.hit = run.f.findIndex((f) => f & BREAK);
    if (run.hit < 0) run.hit = null;
    const edges = [...new Set([...run.p, ...run.a.map((_, i) => to(i))])].sort((p, q) => p - q);
    steps = edges.slice(1).map((p, i) => (p + edges[i]) / 2);
    at("to-break").hidden = run.hit === null;
    at("windows").textContent = run.said
      + (timeless() ? " No link takes time here, so the axis counts steps: what is sent at once is one." : "")
      + (run.break && run.hit === null ? " The message that breaks the claim is not among them." : "");
    place = 0;
    at("scrub").max = last();
    delete player.dataset.packet;
    for (const made of dots.values()) made.remove();
    dots = new Map();
    drawMeasures();
    draw();
  };
  player.querySelector(".choices").hidden = at("timeline").hidden = false;
  at("choose-algorithm")?.addEventListener("change", (event) => choose(Number(event.target.value)));
  at("choose-measure").addEventListener("change", drawMeasures);
  at("choose-skill")?.addEventListener("change", drawMeasures);
  if (at("choose-algorithm")) at("choose-algorithm").value = data.start;
  choose(data.start);
})();
