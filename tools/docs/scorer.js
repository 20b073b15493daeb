// What the search shows first: the page whose name is what was typed (`nn.Linear`, or `relu` for `torch.relu`), then titles that have it as a
// word (`NaN`), then the rest as Sphinx ranks it.
const asked = (new URLSearchParams(location.search).get("q") || "").trim().replace(/\(\)$/, "");
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score: ([page, title, anchor, , score]) => {
    const name = title.split(" > ").pop(), low = name.toLowerCase(), query = asked.toLowerCase().replace(/^torch\./, "");
    if (!query) return score;
    const whole = low.replace(/^torch\./, "") === query || low === asked.toLowerCase();
    const last = !/\s/.test(name) && low.endsWith("." + query);
    const words = low.split(/[^\w.-]+/);
    const found = whole ? 3000 : last ? 2000 : words.includes(query) || (query.includes(" ") && low.includes(query)) ? 1000 : 0;
    if (!found) return score;
    return found + (name.endsWith(asked) ? 300 : 0) + (anchor ? 0 : 100) + (page.startsWith("source/") ? -500 : 0) - Math.min(name.length, 90) + score;
  },
};
