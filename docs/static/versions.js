// Fills the menu of versions from versions.json, which lies at the root of the published site: above that of a version.
(async () => {
  const menu = document.querySelector("#versions select"), root = document.documentElement.dataset.content_root;
  if (!menu || location.protocol === "file:") return;
  for (const place of ["versions.json", "../versions.json"]) {
    const list = new URL(root + place, location.href), answer = await fetch(list).catch(() => null);
    if (!answer?.ok) continue;
    const here = new URL(root, location.href).href;
    for (const { name, path } of await answer.json()) {
      const there = new URL(path, list).href;
      menu.add(new Option(name, there, false, there === here));
    }
    menu.addEventListener("change", async () => {
      const same = menu.value + location.href.slice(here.length), found = await fetch(same, { method: "HEAD" });
      location.href = found.ok ? same : menu.value;
    });
    menu.parentElement.hidden = menu.length < 2;
    return;
  }
})();
