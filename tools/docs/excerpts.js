// The search page shows, under each page it found, the words around what was searched for. The texts are in texts.js, loaded there only.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("search-results"), root = document.documentElement.dataset.content_root || "";
  if (!place) return;
  const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
  const excerpt = (text) => {
    const low = text.toLowerCase(), at = Math.min(...words.map((w) => low.indexOf(w)).filter((k) => k >= 0), Infinity);
    const start = at === Infinity || at < 60 ? 0 : text.indexOf(" ", at - 60) + 1, shown = text.slice(start, start + 220);
    const line = document.createElement("p");
    line.className = "excerpt";
    if (start) line.append("… ");
    for (const piece of shown.split(/(\s+)/)) {
      if (words.some((w) => piece.toLowerCase().includes(w))) line.append(Object.assign(document.createElement("mark"), { textContent: piece }));
      else line.append(piece);
    }
    line.append(" …");
    return line;
  };
  const fill = () => place.querySelectorAll("ul.search > li:not(.told)").forEach((li) => {
    const link = li.querySelector("a");
    if (!link) return;
    li.classList.add("told");
    const name = new URL(link.href).pathname.slice(new URL(root || "./", location.href).pathname.length).replace(/\.html$/, "");
    const text = PAGE_TEXTS[decodeURIComponent(name)];
    if (text) li.append(excerpt(text));
  });
  const script = document.createElement("script");
  script.src = root + "_static/texts.js";
  script.addEventListener("load", () => { fill(); new MutationObserver(fill).observe(place, { childList: true, subtree: true }); });
  document.head.append(script);
});
