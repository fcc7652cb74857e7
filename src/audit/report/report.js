"use strict";
// Shows what the report was made with; decides nothing itself. Everything from a record reaches
// the page as text: no string is ever parsed as markup.
(() => {
  const D = JSON.parse(document.getElementById("data").textContent);
  const ROW = ["id", "at", "agent", "path", "rule", "decision", "candidate", "offered", "resume", "outcome", "text", "reason", "head", "us", "probes", "notes", "table", "factsError"];
  const TEXTS = new Set(["agent", "rule", "decision", "candidate", "offered", "resume", "outcome", "text", "reason", "head", "table", "factsError"]);
  const SEGMENT = ["id", "session", "earlier", "start", "end", "reason", "rung", "provider", "login", "cwd", "forkedFrom", "bytes"];
  const CHUNK = 100, LANES = 8, CHAIN_CHUNK = 200, BIN_PX = 7;
  const ICONS = {
    allow: "M2.5 8.5l3.5 3.5 7.5-8", redirect: "M2 8h11M9 4l4 4-4 4", refuse: "M3.5 3.5l9 9M12.5 3.5l-9 9",
    relocate: "M2 5h11M10 2l3 3-3 3M14 11H3M6 8l-3 3 3 3", fork: "M8 14V9M8 9L4 3M8 9l4-6", fork_from: "M3 2v6h9M9 5l3 3-3 3", none: "M3 8h10",
  };
  const $ = (id) => document.getElementById(id);
  const text = (place) => (place === null || place === undefined ? null : D.strings[place]);
  const named = (names, values, texts) => Object.fromEntries(names.map((name, i) => [name, texts.has(name) ? text(values[i]) : values[i]]));

  const rows = D.rows.map((row) => named(ROW, row, TEXTS));
  rows.forEach((row, i) => { row.i = i; row.kind = D.decisions.includes(row.decision) ? row.decision : "none"; });
  rows.sort((a, b) => (b.at ?? 0) - (a.at ?? 0) || a.i - b.i);
  // What an address names a decision by: its id, or its place where it has none of its own.
  const byKey = new Map();
  for (const row of rows) {
    row.key = row.id && !byKey.has(row.id) ? row.id : `row-${row.i}`;
    byKey.set(row.key, row);
  }
  const chains = new Map(D.agents.map((agent) => [agent.uid, {
    all: agent.all,
    segments: agent.segments.map((segment) => named(SEGMENT, segment, new Set(["reason", "rung", "provider", "login", "cwd", "forkedFrom"]))),
  }]));

  const agentNames = new Set([...rows.map((row) => row.agent), ...chains.keys()].filter(Boolean));

  // --- building blocks ---
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (name === "style") for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }
  function svg(tag, attributes, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const tint = (kind) => ({ "--k": `var(--${kind in ICONS ? kind : "none"})` });
  const icon = (kind) => svg("svg", { viewBox: "0 0 16 16", width: 13, height: 13, "aria-hidden": "true" },
    svg("path", { d: ICONS[kind] ?? ICONS.none, fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-linecap": "round", "stroke-linejoin": "round" }));
  const badge = (kind, label) => el("span", { class: "badge", style: tint(kind) }, icon(kind), label);
  const label = (row) => row.decision ?? "nothing to decide";
  const two = (n) => String(n).padStart(2, "0");
  function when(ms) {
    const d = new Date(ms);
    if (ms === null || ms === undefined || Number.isNaN(d.getTime())) return "no time";
    return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  }
  const iso = (ms) => { const d = new Date(ms); return ms === null || Number.isNaN(d.getTime()) ? null : d.toISOString(); };
  function span(ms) {
    const units = [["d", 864e5], ["h", 36e5], ["min", 6e4], ["s", 1e3]];
    const i = units.findIndex(([, size]) => ms >= size);
    if (i < 0) return `${Math.max(0, Math.round(ms))} ms`;
    const [unit, size] = units[i], rest = units[i + 1];
    const more = rest ? Math.floor((ms % size) / rest[1]) : 0;
    return `${Math.floor(ms / size)} ${unit}${more ? ` ${more} ${rest[0]}` : ""}`;
  }
  const short = (id) => (id && id.length > 13 ? `${id.slice(0, 8)}…` : id);
  const number = (n) => n.toLocaleString("en");
  const plural = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;
  const any = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names[names.length - 1]}`);
  const address = (row) => `#d=${encodeURIComponent(row.key)}`;
  const open = (row) => { if (location.hash === address(row)) show(row); else location.hash = address(row); };

  // --- filter ---
  const filter = { q: "", agent: "", rule: "", kinds: new Set(), since: null, until: null };
  let shown = rows, rendered = 0;
  const haystack = (row) => (row.hay ??= [row.id, row.agent, row.rule, row.decision, row.candidate, row.resume, row.head, row.text].join("\n").toLowerCase());
  function matches(row) {
    return (!filter.agent || (agentNames.has(filter.agent) ? row.agent === filter.agent : row.agent?.includes(filter.agent))) && (!filter.rule || row.rule === filter.rule)
      && (!filter.kinds.size || filter.kinds.has(row.kind))
      && (filter.since === null || row.at >= filter.since) && (filter.until === null || row.at < filter.until)
      && (!filter.q || haystack(row).includes(filter.q));
  }
  function apply() {
    shown = rows.filter(matches);
    $("list").tBodies[0].replaceChildren();
    rendered = 0;
    more();
    const of = shown.length === rows.length ? "" : ` of ${number(rows.length)}`;
    $("count").textContent = `${number(shown.length)}${of} ${rows.length === 1 ? "decision" : "decisions"}`;
    $("none").hidden = shown.length > 0;
    for (const button of $("kinds").children) button.setAttribute("aria-pressed", filter.kinds.has(button.dataset.kind));
    lanes();
  }
  function more() {
    const body = document.createDocumentFragment();
    for (const row of shown.slice(rendered, rendered + CHUNK)) {
      body.append(el("tr", { "data-i": row.i },
        el("td", null, el("a", { href: address(row) }, el("time", { datetime: iso(row.at) }, when(row.at)))),
        el("td", { class: "agent" }, row.agent ?? "–"), el("td", null, badge(row.kind, label(row))),
        el("td", { class: "rule" }, row.rule ?? "–"), el("td", { class: "text" }, row.text)));
    }
    rendered = Math.min(rendered + CHUNK, shown.length);
    $("list").tBodies[0].append(body);
    $("list").hidden = shown.length === 0;
    $("more").hidden = rendered >= shown.length;
    $("more").textContent = `Show more (${number(shown.length - rendered)} left)`;
  }
  function controls() {
    $("q").value = filter.q; $("agent").value = filter.agent; $("rule").value = filter.rule;
  }

  // --- summary ---
  function summary() {
    const counts = new Map();
    for (const row of rows) counts.set(row.kind, (counts.get(row.kind) ?? 0) + 1);
    const kinds = [...D.decisions, ...(counts.has("none") ? ["none"] : [])];
    for (const kind of kinds) {
      const count = counts.get(kind) ?? 0;
      if (count) $("split").append(el("i", { style: { ...tint(kind), "flex-grow": String(count) } }));
      $("kinds").append(el("button", {
        type: "button", class: "kind", "data-kind": kind, "data-zero": count === 0, "aria-pressed": "false", style: tint(kind),
        onclick: () => { filter.kinds.has(kind) ? filter.kinds.delete(kind) : filter.kinds.add(kind); apply(); },
      }, el("b", null, number(count)), badge(kind, kind === "none" ? "undecided" : kind)));
    }
    const parts = [`${plural(D.records, "decision", "decisions")} in ${D.source}`, `made ${when(D.now_ms)}`];
    if (D.records > rows.length) parts.push(`the newest ${number(rows.length)} are shown, all are counted in the rule table`);
    if (D.unreadable) parts.push(`${plural(D.unreadable, "line is", "lines are")} no record`);
    $("about").textContent = parts.join(" · ");
  }

  // --- agents ---
  let lanesShown = LANES;
  const expanded = new Set();
  function lanes() {
    const perAgent = new Map();
    for (const row of shown) if (row.agent) (perAgent.get(row.agent) ?? perAgent.set(row.agent, []).get(row.agent)).push(row);
    if (!filter.q && !filter.rule && !filter.kinds.size && !filter.agent) for (const uid of chains.keys()) if (!perAgent.has(uid)) perAgent.set(uid, []);
    const newest = (uid) => Math.max(perAgent.get(uid)[0]?.at ?? 0, chains.get(uid)?.segments.at(-1)?.start ?? 0);
    const order = [...perAgent.keys()].sort((a, b) => newest(b) - newest(a) || (a < b ? -1 : 1));
    const visible = order.slice(0, lanesShown);
    let from = Infinity, to = -Infinity;
    const see = (ms) => { if (ms > 0) { from = Math.min(from, ms); to = Math.max(to, ms); } };
    for (const uid of visible) {
      perAgent.get(uid).forEach((row) => see(row.at));
      if (filter.since === null && filter.until === null) chains.get(uid)?.segments.forEach((segment) => { see(segment.start); see(segment.end); });
    }
    if (!(to > from)) { from -= 36e5; to = from + 72e5; }
    $("axis").textContent = visible.length && Number.isFinite(from) ? `${when(from).slice(0, 16)} to ${when(to).slice(0, 16)}` : "";
    $("lanes").replaceChildren(...visible.map((uid) => lane(uid, perAgent.get(uid), from, to)));
    $("lanes").hidden = visible.length === 0;
    $("more-lanes").hidden = order.length <= visible.length;
    $("more-lanes").textContent = `Show all ${number(order.length)} agents`;
  }
  function lane(uid, decided, from, to) {
    const chain = chains.get(uid), count = chain?.all ?? 0, last = decided[0];
    // Of more decisions than the page shows, an agent's are those among the newest.
    const among = D.records > rows.length ? " shown" : "";
    const facts = [plural(count, "segment", "segments"), plural(decided.length, "decision", "decisions") + among];
    if (last) facts.push(`last ${label(last)}${last.rule ? ` by ${last.rule}` : ""}, ${when(last.at)}`);
    const list = el("ol", { class: "chain", hidden: !expanded.has(uid), "aria-label": `Chain of ${uid}, newest first`, tabindex: "0" });
    const toggle = el("button", { type: "button", class: "quiet", "aria-expanded": String(expanded.has(uid)), onclick: () => {
      const opens = list.hidden;
      opens ? expanded.add(uid) : expanded.delete(uid);
      list.hidden = !opens;
      toggle.setAttribute("aria-expanded", String(opens));
      if (opens && !list.childElementCount) fill(list, uid, decided);
    } }, "Chain");
    if (expanded.has(uid)) fill(list, uid, decided);
    return el("li", { class: "lane" },
      el("div", { class: "lane-head" },
        el("button", { type: "button", class: "who", "aria-pressed": String(filter.agent === uid), title: "Show only this agent",
          onclick: () => { filter.agent = filter.agent === uid ? "" : uid; controls(); apply(); } }, uid),
        el("span", { class: "soft" }, facts.join(" · ")), toggle),
      strip(uid, chain?.segments ?? [], decided, from, to), list);
  }
  function strip(uid, segments, decided, from, to) {
    const width = Math.max(240, $("lanes").clientWidth - 30);
    const x = (ms) => Math.max(0, Math.min(width, ((ms - from) / (to - from)) * width));
    const picture = svg("svg", { class: "strip", viewBox: `0 0 ${width} 46`, role: "img", "aria-label": `Timeline of ${uid}: ${plural(segments.length, "segment", "segments")}, ${plural(decided.length, "decision", "decisions")}` },
      svg("line", { class: "base", x1: 0, x2: width, y1: 38, y2: 38 }));
    let drawn = -1;
    segments.forEach((segment, i) => {
      const until = segment.end ?? segments[i + 1]?.start ?? to, start = x(segment.start);
      if (!segment.start || x(until) < drawn) return;
      drawn = Math.max(x(until), start + 2);
      const bar = svg("rect", { x: start, y: 34, width: Math.max(2, x(until) - start - 1), height: 8, class: segment.reason === "crashed" ? "crashed" : `${["native", "virtualized", "fresh"].includes(segment.rung) ? segment.rung : "unknown"}${segment.end ? "" : " open"}` });
      bar.append(svg("title", {}, document.createTextNode(`${segment.session ? short(segment.session) : "no session"}, ${segment.rung}, ${when(segment.start)}`)));
      picture.append(bar);
    });
    const bins = new Map();
    for (const row of decided) {
      if (!(row.at >= from && row.at <= to)) continue;
      const bin = Math.round(x(row.at) / BIN_PX);
      const kinds = bins.get(bin) ?? bins.set(bin, new Map()).get(bin);
      (kinds.get(row.kind) ?? kinds.set(row.kind, []).get(row.kind)).push(row);
    }
    for (const [bin, kinds] of bins) {
      let y = 28;
      for (const [kind, some] of kinds) {
        const dot = svg("circle", { cx: bin * BIN_PX, cy: y, r: some.length > 20 ? 4.5 : some.length > 1 ? 3.8 : 3.2 });
        dot.style.setProperty("--k", `var(--${kind})`);
        dot.append(svg("title", {}, document.createTextNode(`${plural(some.length, kind, kind)}, ${when(some[0].at)}`)));
        dot.addEventListener("click", () => open(some[0]));
        picture.append(dot);
        y -= 8;
      }
    }
    return picture;
  }
  /** Segments in log order with each decision before the segment that it led to; newest first. */
  function fill(list, uid, decided) {
    const segments = chains.get(uid)?.segments ?? [], items = [], waiting = [...decided].reverse();
    const until = (ms) => { while (waiting.length && ms > 0 && waiting[0].at <= ms) items.push(step(waiting.shift())); };
    segments.forEach((segment, i) => {
      const before = segments[i - 1];
      if (before) { until(before.end); items.push(...between(before, segment)); }
      until(segment.start);
      items.push(piece(segment));
    });
    items.push(...waiting.map(step));
    items.reverse();
    let at = 0;
    const grow = () => {
      list.append(...items.slice(at, at + CHAIN_CHUNK));
      at += CHAIN_CHUNK;
      if (at < items.length) list.append(el("li", { class: "gap" }, el("button", { type: "button", class: "quiet", onclick: (event) => { event.target.parentElement.remove(); grow(); } }, `Show ${number(items.length - at)} older`)));
    };
    grow();
    if (!items.length) list.append(el("li", { class: "gap" }, "nothing recorded"));
  }
  function step(row) {
    return el("li", { class: "decision", style: tint(row.kind) },
      el("a", { href: address(row), style: { color: "inherit", "text-decoration": "none" } }, badge(row.kind, label(row)), ` ${row.rule ? `by ${row.rule}, ` : ""}${when(row.at)}`),
      el("div", { class: "soft what" }, row.text));
  }
  function piece(segment) {
    const about = [segment.rung, segment.provider ?? "claude", segment.login, segment.cwd].filter(Boolean);
    const times = [when(segment.start)];
    if (segment.end) times.push(`${segment.reason} after ${span(Math.max(0, segment.end - segment.start))}`);
    else times.push("no end recorded");
    if (segment.bytes !== null) times.push(`${number(segment.bytes)} bytes`);
    return el("li", null, el("b", { class: "id", title: segment.session }, segment.session ? short(segment.session) : "no session"), ` ${times.join(" · ")}`,
      el("div", { class: "soft what" }, about.join(" · "), segment.forkedFrom ? ` · forked from ${short(segment.forkedFrom)}` : "", segment.earlier.length ? ` · before in the same process: ${segment.earlier.map(short).join(", ")}` : ""));
  }
  function between(before, after) {
    const said = [];
    if (before.end && after.start) {
      const gap = after.start - before.end;
      if (gap >= 6e4) said.push(`${span(gap)} without a process`);
      if (gap < 0) said.push(`begins ${span(-gap)} before the one before it ended`);
    }
    if (before.login && after.login && before.login !== after.login) said.push(`login changed from ${before.login} to ${after.login}`);
    if (before.cwd && after.cwd && before.cwd !== after.cwd) said.push(`directory changed from ${before.cwd} to ${after.cwd}`);
    return said.map((line) => el("li", { class: "gap what" }, line));
  }

  // --- rule table ---
  const heat = (count, most) => (count === 0 || most === 0 ? 0 : 0.08 + 0.42 * (Math.log1p(count) / Math.log1p(most)));
  function ruleTable(index) {
    const table = D.tables[index], most = Math.max(0, ...table.rules.map((rule) => rule.hits)), never = table.rules.filter((rule) => rule.hits === 0).length;
    $("table-about").textContent = `version ${table.version}, ${table.sha256.slice(0, 12)} · ${plural(table.records, "decision", "decisions")} by it · ${never ? `${plural(never, "rule", "rules")} never reached` : "every rule reached"}`;
    $("heat").tBodies[0].replaceChildren(...table.rules.map((rule, i) => el("tr", { class: rule.hits ? null : "never" },
      el("td", { class: "num" }, String(i + 1)),
      el("td", null, el("button", { type: "button", class: "link", title: "Show its decisions", onclick: () => { filter.rule = rule.id; controls(); apply(); $("decisions").scrollIntoView(); } }, rule.id), el("span", { class: "what" }, rule.what)),
      el("td", { class: "then" }, badge(rule.decision, rule.decision)),
      el("td", { class: "when" }, rule.when.length ? rule.when.map((condition) => el("span", { class: "values" }, el("span", { class: "soft" }, condition.fact),
        condition.values.map(([value, count]) => el("span", { class: count ? "value" : "value zero", style: { "--h": String(heat(count, rule.hits) / 2) } }, value, el("b", null, number(count)))))) : el("span", { class: "soft" }, "always")),
      el("td", { class: "num hits", style: { "--h": String(heat(rule.hits, most)) } }, rule.hits ? number(rule.hits) : "never"))));
  }

  // --- one decision ---
  const labelled = (items) => el("dl", { class: "labelled" }, items.filter((item) => item && item[1] !== null && item[1] !== undefined && item[1] !== "").flatMap(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
  const SIGN = { p: "✓", f: "✗", b: "–", q: "?" };
  function condition(fact, wanted, verdict, seen) {
    const said = { p: `${fact} ${seen}`, f: `${fact} is ${seen}, not ${any(wanted)}`, b: `${fact} does not apply`, q: `${fact} not asked, wants ${any(wanted)}` }[verdict];
    return el("span", { class: `cond ${verdict}` }, `${SIGN[verdict]} ${said}`);
  }
  function trace(table, path) {
    const facts = Object.fromEntries(D.facts.map((fact, i) => [fact.name, path.facts[i]]));
    const item = (rule, i) => {
      const verdicts = path.verdicts[i], hit = verdicts[0] === "h";
      return el("li", { class: hit ? "hit" : null, style: tint(rule.decision) }, el("span", { class: "n" }, String(i + 1)),
        el("span", { "aria-hidden": "true" }, hit ? "✓" : verdicts[0] === "m" ? "✗" : "·"),
        el("div", null, el("span", { class: "rule" }, rule.id), el("span", { class: "hidden" }, hit ? " decided" : verdicts[0] === "m" ? " missed" : " was not reached"), el("span", { class: "soft" }, ` → ${rule.decision}`),
          el("div", null, rule.when.length ? rule.when.map((c, k) => condition(c.fact, c.values.map(([value]) => value), verdicts[k + 1], facts[c.fact])) : el("span", { class: "cond p" }, "✓ always"))));
    };
    const reached = table.rules.slice(0, path.rule + 1).map(item), rest = table.rules.slice(path.rule + 1).map((rule, i) => item(rule, path.rule + 1 + i));
    return [el("ol", { class: "path" }, reached), rest.length ? el("details", null, el("summary", null, `${plural(rest.length, "rule", "rules")} not reached`), el("ol", { class: "path" }, rest)) : null];
  }
  function today(row, path, then) {
    if (!path || !row.decision) return null;
    if (path.now.needs) return `undetermined: it needs ${path.now.needs.join(", ")}, which was not asked`;
    if (path.now.decision !== then) return el("b", null, `would decide otherwise: ${path.now.decision} by ${path.now.rule}`);
    return path.now.rule === row.rule ? "decides the same" : `decides the same, by ${path.now.rule}`;
  }
  function missed(miss) {
    if (!miss) return null;
    const failing = miss.failing.map((c) => ({ fail: `${c.fact} is ${c.seen}, not ${any(c.wanted)}`, not_applicable: `${c.fact} does not apply`, not_asked: `${c.fact} not asked, wants ${any(c.wanted)}` }[c.check]));
    return `${miss.rule} (${miss.decision}): ${failing.join(", ")}`;
  }
  function changes(list) {
    const groups = new Map();
    for (const change of list) {
      if (change.fact === "spawn_provider" || change.fact === "chain") continue;
      const depends = change.depends_on.length ? `, depends on ${change.depends_on.join(" and ")}` : "";
      const key = `${change.fact}\n${any(change.decisions)}${depends}`;
      groups.set(key, [...(groups.get(key) ?? []), change.value]);
    }
    return [...groups].map(([key, values]) => { const [fact, then] = key.split("\n"); return el("li", null, `${fact} ${any(values)} → ${then}`); });
  }
  let current = null;
  function show(row) {
    current = row;
    const path = row.path === null ? null : D.paths[row.path], table = path && path.table !== null ? D.tables[path.table] : null, rule = table?.rules[path.rule];
    const would = path ? changes(path.changes) : [];
    const known = path ? D.facts.map((fact, i) => [fact.name, path.facts[i]]).filter(([, value]) => value !== 0) : [];
    const body = [
      badge(row.kind, `${label(row)}${row.rule ? ` by ${row.rule}` : ""}${rule ? ` (${path.rule + 1} of ${table.rules.length})` : ""}`),
      el("h2", { id: "detail-title" }, row.text), el("p", { class: "lead" }, rule?.what ?? row.reason ?? ""),
      row.notes.map((note) => el("p", { class: "note" }, text(note))),
      labelled([["why", rule?.why], ["next", rule?.next], ["nearest miss", missed(path?.miss)], ["would change", would.length ? el("ul", { class: "plain" }, would) : null], ["today's table", today(row, path, rule?.decision ?? row.decision)]]),
      !table && row.decision ? el("p", { class: "note" }, row.factsError ? `This decision's facts are of another version: ${row.factsError}.` : "The table that made this decision is not known here, so its rules cannot be shown.") : null,
      el("h3", null, "Facts"),
      known.length ? el("dl", { class: "labelled facts" }, known.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value ?? el("span", { class: "soft" }, "not asked"))))) : el("p", { class: "soft" }, "none recorded"),
      row.probes.length ? [el("h3", null, "What was looked at"), el("ul", { class: "plain" }, row.probes.map(([fact, value, at, size, recorded, error]) => el("li", null, `${fact} ${value}`,
        el("div", { class: "soft" }, [text(at), size === null ? null : `${number(size)} bytes`, recorded === null ? null : `${number(recorded)} recorded`, text(error)].filter(Boolean).join(" · ")))))] : null,
      table ? [el("h3", null, "The way through the table"), ...trace(table, path)] : null,
      el("h3", null, "The spawn"),
      labelled([["agent", row.agent], ["time", el("time", { datetime: iso(row.at) }, when(row.at))], ["asked for", row.candidate ? `${row.candidate}${row.offered ? ` (${row.offered})` : ""}` : "nothing"], ["head", row.head], ["plan", row.resume ? `${row.outcome} ${row.resume}` : row.outcome],
        ["took", row.us === null ? null : `${number(row.us)} µs`], ["table", table ? `${table.name} version ${table.version}, ${table.sha256.slice(0, 12)}` : row.table?.slice(0, 12)], ["record", el("span", { class: "id" }, row.id ?? "without id")]]),
    ];
    $("detail-body").replaceChildren(...body.flat(3).filter(Boolean));
    const at = shown.indexOf(row);
    $("place").textContent = at < 0 ? "" : `${number(at + 1)} of ${number(shown.length)}`;
    $("newer").disabled = at <= 0; $("older").disabled = at < 0 || at + 1 >= shown.length;
    $("newer").onclick = () => go(shown[at - 1]); $("older").onclick = () => go(shown[at + 1]);
    if (!$("detail").open) $("detail").showModal();
    $("detail").scrollTop = 0;
  }
  const go = (row) => { if (row) { history.replaceState(null, "", address(row)); show(row); } };
  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  function route() {
    const row = location.hash.startsWith("#d=") ? byKey.get(decoded(location.hash.slice(3))) : null;
    if (row) show(row); else if ($("detail").open) $("detail").close();
  }

  // --- wiring ---
  const local = (input) => { const ms = new Date(input.value).getTime(); return Number.isNaN(ms) ? null : ms; };
  const read = () => { filter.q = $("q").value.trim().toLowerCase(); filter.agent = $("agent").value; filter.rule = $("rule").value; filter.since = local($("since")); filter.until = local($("until")); apply(); };
  let timer;
  $("filter").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(read, 80); });
  $("filter").addEventListener("submit", (event) => { event.preventDefault(); read(); });
  $("filter").addEventListener("reset", () => setTimeout(() => { filter.kinds.clear(); read(); }));
  $("more").addEventListener("click", more);
  $("more-lanes").addEventListener("click", () => { lanesShown = Infinity; lanes(); });
  new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) more(); }, { rootMargin: "600px" }).observe($("more"));
  // An address that is there already is no change of it.
  document.addEventListener("click", (event) => { if (event.target.closest?.("a")?.hash === location.hash) route(); });
  $("list").tBodies[0].addEventListener("click", (event) => { if (!event.target.closest("a")) event.target.closest("tr")?.querySelector("a")?.click(); });
  $("list").addEventListener("keydown", (event) => {
    const row = event.target.closest("tr"), next = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key];
    if (next) { event.preventDefault(); next.querySelector("a").focus(); }
  });
  $("detail").addEventListener("keydown", (event) => { if (event.key === "ArrowRight") $("older").click(); else if (event.key === "ArrowLeft") $("newer").click(); });
  $("detail").addEventListener("click", (event) => { if (event.target === $("detail")) $("detail").close(); });
  // The close event comes late: by then another decision may have been asked for.
  $("detail").addEventListener("close", () => { if (!$("detail").open && current && location.hash === address(current)) history.replaceState(null, "", location.pathname + location.search); });
  $("close").addEventListener("click", () => $("detail").close());
  $("theme").addEventListener("click", () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  $("table-choice").addEventListener("change", (event) => ruleTable(Number(event.target.value)));
  window.addEventListener("hashchange", route);
  let width = innerWidth;
  window.addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; clearTimeout(timer); timer = setTimeout(lanes, 150); } });

  $("agent-names").append(...[...agentNames].sort().slice(0, 5000).map((uid) => el("option", { value: uid })));
  const ids = new Set([...(D.tables[0]?.rules.map((rule) => rule.id) ?? []), ...rows.map((row) => row.rule)].filter(Boolean));
  $("rule").append(el("option", { value: "" }, "all"), ...[...ids].map((id) => el("option", { value: id }, id)));
  $("table-choice").append(...D.tables.map((table, i) => el("option", { value: i }, `${table.version} (${table.sha256.slice(0, 7)})${i ? "" : ", today"}`)));
  $("which-table").hidden = D.tables.length < 2;
  summary();
  if (D.tables.length) ruleTable(0);
  apply();
  route();
})();
