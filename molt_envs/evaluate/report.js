"use strict";
const { settings, summaries, records } = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const PAGE = 200;
const state = { shown: [], limit: PAGE, open: null };

function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const percent = (value) => `${(100 * value).toFixed(1)} %`;
const number = (value) => (Math.abs(value) >= 1000 ? value.toLocaleString("en") : String(Number(value.toFixed(3))));
const short = (count) => (count < 1e4 ? count.toLocaleString("en") : count < 1e6 ? `${(count / 1e3).toFixed(1)}k` : `${(count / 1e6).toFixed(2)}M`);
const sum = (values) => values.reduce((total, value) => total + value, 0);

function kind(record) {
  if (record.outcome === "unresolved") return ["warn", "unresolved"];
  if (record.success) return ["good", "solved"];
  if (record.outcome === "failed") return ["bad", "failed"];
  return ["plain", record.outcome === "terminated" ? "not solved" : record.outcome === "truncated" ? "out of turns" : "out of tokens"];
}
const chip = (record) => { const [css, text] = kind(record); return make("span", { className: `chip ${css}` }, text); };

// ---- numbers
const resolved = records.filter((record) => record.outcome !== "unresolved");
const solved = resolved.filter((record) => record.success).length;
function head() {
  const policy = settings.policy;
  document.title = `${policy} · evaluation`;
  $("title").textContent = policy;
  $("subtitle").textContent = [plural(summaries.length, "environment"), `split ${settings.split}`, `${plural(settings.num_samples, "sample")} per task`,
    `temperature ${settings.temperature}`, `at most ${settings.max_tokens} tokens a turn`, `seed ${settings.seed}`].join(" · ");
  const tokens = [sum(summaries.map((one) => one.num_prompt_tokens)), sum(summaries.map((one) => one.num_completion_tokens))];
  const cost = sum(summaries.map((one) => one.cost));
  const unresolved = records.length - resolved.length;
  const turns = sum(records.map((record) => record.turns.length));
  const cards = [
    ["episodes solved", resolved.length ? percent(solved / resolved.length) : "–", `${solved.toLocaleString("en")} of ${resolved.length.toLocaleString("en")}`],
    ["episodes", records.length.toLocaleString("en"), plural(turns, "turn")],
    ["unresolved", unresolved.toLocaleString("en"), unresolved ? "counted apart, never as zero" : "everything ran"],
  ];
  if (tokens[0] + tokens[1]) cards.push(["tokens written", short(tokens[1]), `${short(tokens[0])} read${cost ? ` · cost ${cost.toFixed(4)}` : ""}`]);
  $("cards").append(...cards.map(([what, value, more]) => make("div", { className: "card" }, make("span", {}, what), make("b", {}, value), make("i", {}, more))));
}

function interval(estimate) {
  const bar = make("span", { className: "interval", title: `95 % interval ${percent(estimate.low)} to ${percent(estimate.high)}` });
  const range = make("u"), point = make("s");
  range.style.left = `${100 * estimate.low}%`; range.style.right = `${100 * (1 - estimate.high)}%`; point.style.left = `${100 * estimate.value}%`;
  bar.append(range, point);
  return bar;
}
function outcomes(env) {
  const own = records.filter((record) => record.env_id === env), bar = make("span", { className: "stack" });
  const counts = new Map();
  for (const record of own) { const key = kind(record).join("|"); counts.set(key, (counts.get(key) || 0) + 1); }
  const order = ["good", "plain", "bad", "warn"];
  const parts = [...counts].sort((a, b) => order.indexOf(a[0].split("|")[0]) - order.indexOf(b[0].split("|")[0]));
  for (const [key, count] of parts) { const part = make("i", { className: key.split("|")[0] }); part.style.width = `${100 * count / own.length}%`; bar.append(part); }
  bar.title = parts.map(([key, count]) => `${count} ${key.split("|")[1]}`).join(", ");
  return [bar, make("small", {}, bar.title)];
}
function environments() {
  const most = Math.max(1, ...summaries.flatMap((one) => Object.keys(one.passes).map(Number)));
  const columns = ["environment", "tasks", "solved (pass@1)", ...(most > 1 ? [`pass@${most}`] : []), "score", "turns", "outcomes"];
  const numbers = new Set(["tasks", "score", "turns"]);
  $("environments").append(make("thead", {}, make("tr", {}, ...columns.map((name) => make("th", { className: numbers.has(name) ? "n" : "" }, name)))));
  const body = make("tbody");
  for (const one of summaries) {
    const rate = (k) => { const e = one.passes[k]; return e ? make("td", {}, interval(e), make("b", {}, percent(e.value)), make("small", {}, `  ${percent(e.low)} – ${percent(e.high)}`)) : make("td", {}, "–"); };
    const score = one.score ? make("td", { className: "n" }, number(one.score.value), make("small", {}, `  ± ${number((one.score.high - one.score.low) / 2)}`)) : make("td", { className: "n" }, "–");
    const row = make("tr", { title: "show its episodes", tabIndex: 0 }, make("td", {}, make("b", {}, one.env_id)), make("td", { className: "n" }, one.num_tasks.toLocaleString("en")), rate(1));
    if (most > 1) row.append(rate(most));
    row.append(score, make("td", { className: "n" }, one.num_turns.toFixed(1)), make("td", {}, ...outcomes(one.env_id)));
    const choose = () => { $("env").value = one.env_id; filter(); $("browser").scrollIntoView({ behavior: "smooth" }); };
    row.onclick = choose; row.onkeydown = (event) => { if (event.key === "Enter") choose(); };
    body.append(row);
  }
  $("environments").append(body);
  $("explained").textContent = "Bars show 95 % intervals over tasks: Wilson's for rates, the normal one for scores. pass@k is estimated without bias from all samples of a task.";
}

// ---- episodes
const words = records.map((record) => [record.task_id, record.env_id, record.reason, record.observation,
  ...record.turns.flatMap((turn) => [turn.message, turn.action, turn.observation || ""])].join("\n").toLowerCase());

function options() {
  const envs = summaries.map((one) => one.env_id);
  $("env").append(make("option", { value: "" }, "all environments"), ...envs.map((env) => make("option", { value: env }, env)));
  const kinds = [...new Set(records.map((record) => kind(record)[1]))].sort();
  $("result").append(make("option", { value: "" }, "all results"), ...kinds.map((name) => make("option", { value: name }, name)));
}
function filter() {
  const asked = $("search").value.trim().toLowerCase(), env = $("env").value, result = $("result").value;
  const found = [...records.keys()].filter((index) => (!env || records[index].env_id === env) && (!result || kind(records[index])[1] === result) && (!asked || words[index].includes(asked)));
  const score = (index) => (records[index].score === null ? -Infinity : records[index].score);
  const orders = { high: (a, b) => score(b) - score(a) || a - b, low: (a, b) => score(a) - score(b) || a - b, long: (a, b) => records[b].turns.length - records[a].turns.length || a - b };
  if (orders[$("sort").value]) found.sort(orders[$("sort").value]);
  state.shown = found; state.limit = PAGE;
  $("count").textContent = plural(found.length, "episode");
  list();
  if (found.length && !found.includes(state.open)) show(found[0]); else if (!found.length) $("episode").replaceChildren(make("p", { className: "empty" }, "no episode fits these filters"));
  else if (state.open !== null) show(state.open);
}
function list() {
  const several = summaries.length > 1;
  const items = state.shown.slice(0, state.limit).map((index) => {
    const record = records[index];
    const name = `${several ? record.env_id.split("/").pop() + " · " : ""}${record.task_id}${settings.num_samples > 1 ? ` · sample ${record.sample + 1}` : ""}`;
    const peek = record.turns.length ? `${plural(record.turns.length, "turn")}${record.score === null ? "" : ` · score ${number(record.score)}`} · ${record.observation.slice(0, 90)}` : record.reason;
    const button = make("button", { type: "button" }, make("span", { className: "name" }, name), chip(record), make("span", { className: "peek" }, peek));
    button.dataset.index = index;
    button.setAttribute("aria-current", String(index === state.open));
    button.onclick = () => show(index);
    return button;
  });
  if (state.shown.length > state.limit) {
    const more = make("button", { type: "button" }, `show ${Math.min(PAGE, state.shown.length - state.limit)} more`);
    more.onclick = () => { state.limit += PAGE; list(); };
    items.push(more);
  }
  $("list").replaceChildren(...items);
}
function marked(text) {
  const asked = $("search").value.trim().toLowerCase(), box = make("div", { className: "text" });
  const lower = text.toLowerCase();
  if (!asked || lower.length !== text.length) { box.textContent = text || "(nothing)"; return box; }
  let from = 0;
  for (let at = lower.indexOf(asked); at >= 0; at = lower.indexOf(asked, from)) {
    box.append(text.slice(from, at), make("mark", {}, text.slice(at, at + asked.length)));
    from = at + asked.length;
  }
  box.append(text.slice(from) || (from ? "" : "(nothing)"));
  return box;
}
function signed(value) { return `reward ${value > 0 ? "+" : ""}${number(value)}`; }
function show(index) {
  state.open = index;
  const record = records[index], parts = [];
  const tokens = [sum(record.turns.map((turn) => turn.num_prompt_tokens)), sum(record.turns.map((turn) => turn.num_completion_tokens))];
  const facts = [record.env_id, plural(record.turns.length, "turn"), `seed ${record.seed}`, record.score === null ? "not scored" : `score ${number(record.score)}`, signed(record.reward)];
  if (tokens[0] + tokens[1]) facts.push(`${short(tokens[0])} tokens read, ${short(tokens[1])} written`);
  parts.push(make("h3", {}, `${record.task_id} `, chip(record)), make("p", { className: "facts" }, facts.join(" · ")));
  if (record.reason) parts.push(make("p", { className: "reason" }, record.reason));
  if (record.system_prompt) parts.push(make("details", {}, make("summary", {}, "what the policy is told first"), make("div", { className: "turn seen" }, marked(record.system_prompt))));
  if (record.observation || record.turns.length) parts.push(make("div", { className: "turn seen" }, make("div", { className: "who" }, "environment"), marked(record.observation)));
  record.turns.forEach((turn, place) => {
    const used = turn.num_completion_tokens ? make("span", { className: "chip" }, plural(turn.num_completion_tokens, "token")) : null;
    const said = make("div", { className: "turn said" }, make("div", { className: "who" }, `policy, turn ${place + 1}`, used), marked(turn.message));
    if (turn.observation === null) said.append(make("p", { className: "taken" }, "cut at the limit of tokens; the environment did not see it"));
    else if (turn.action !== turn.message) said.append(make("p", { className: "taken" }, "taken as ", make("code", {}, turn.action || "(nothing)")));
    parts.push(said);
    if (turn.observation !== null) {
      const reward = turn.reward ? make("span", { className: `chip ${turn.reward > 0 ? "good" : "bad"}` }, signed(turn.reward)) : null;
      parts.push(make("div", { className: "turn seen" }, make("div", { className: "who" }, "environment", reward), marked(turn.observation)));
    }
  });
  parts.push(make("p", { className: "ending" }, chip(record), record.score === null ? "" : `  score ${number(record.score)} after ${plural(record.turns.length, "turn")}`));
  $("episode").replaceChildren(...parts);
  for (const button of $("list").children) button.setAttribute("aria-current", String(Number(button.dataset.index) === index));
  history.replaceState(null, "", `#${encodeURIComponent(record.episode_id)}`);
}
function move(step) {
  const place = state.shown.indexOf(state.open) + step;
  if (place < 0 || place >= state.shown.length) return;
  if (place >= state.limit) { state.limit += PAGE; list(); }
  show(state.shown[place]);
  $("list").children[place].scrollIntoView({ block: "nearest" });
}
function theme(name) { document.documentElement.dataset.theme = name; }

theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
$("theme").onclick = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
let pause = 0;
$("search").oninput = () => { clearTimeout(pause); pause = setTimeout(filter, 120); };
for (const id of ["env", "result", "sort"]) $(id).onchange = filter;
document.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (["INPUT", "SELECT"].includes(event.target.tagName)) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.key === "/") { event.preventDefault(); $("search").focus(); }
  if (event.key === "j") move(1);
  if (event.key === "k") move(-1);
};
head(); environments(); options();
const wanted = decodeURIComponent(location.hash.slice(1));
const first = records.findIndex((record) => record.episode_id === wanted);
if (first >= 0) state.open = first;
filter();
