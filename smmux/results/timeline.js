// Makes the static picture of a time line zoomable, and hands its record to Perfetto. NAME, TITLE and DATA are filled in.
(() => {
  const PERFETTO = "https://ui.perfetto.dev";
  for (const root of document.querySelectorAll('[data-smmux-timeline="NAME"]:not([data-ready])')) {
    root.dataset.ready = "1";
    const lanes = root.querySelector("svg svg"), whole = lanes.viewBox.baseVal.width, high = lanes.viewBox.baseVal.height;
    const ticks = [...root.querySelectorAll("[data-tick]")], tools = root.querySelector("[data-tools]");
    let begin = 0, span = whole;
    const show = (from, length) => {
      span = Math.min(whole, Math.max(length, 16));
      begin = Math.min(Math.max(from, 0), whole - span);
      lanes.setAttribute("viewBox", `${begin} 0 ${span} ${high}`);
      for (const tick of ticks)
        tick.textContent = Math.round(begin + span * Number(tick.dataset.tick)).toLocaleString("en");
    };
    const at = (event) => {
      const box = lanes.getBoundingClientRect(), outer = root.querySelector("svg").getBoundingClientRect();
      const share = outer.width / root.querySelector("svg").viewBox.baseVal.width;
      return Math.min(1, Math.max(0, (event.clientX - outer.left - share * lanes.x.baseVal.value) / (share * lanes.width.baseVal.value || box.width)));
    };
    const zoom = (factor, place = 0.5) => show(begin + span * place * (1 - factor), span * factor);
    lanes.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      zoom(event.deltaY + event.deltaX > 0 ? 1.25 : 0.8, at(event));
    }, { passive: false });
    let held = null;
    lanes.addEventListener("pointerdown", (event) => {
      held = { place: at(event), begin };
      lanes.setPointerCapture(event.pointerId);
    });
    lanes.addEventListener("pointermove", (event) => {
      if (held) show(held.begin + (held.place - at(event)) * span, span);
    });
    for (const end of ["pointerup", "pointercancel"]) lanes.addEventListener(end, () => { held = null; });
    lanes.addEventListener("dblclick", (event) => zoom(0.5, at(event)));
    lanes.style.cursor = "grab";
    lanes.style.touchAction = "pan-y";
    const acts = { in: () => zoom(0.5), out: () => zoom(2), whole: () => show(0, whole), perfetto: () => open() };
    for (const button of tools.querySelectorAll("button"))
      button.addEventListener("click", () => acts[button.dataset.act]());
    tools.style.display = "";

    async function open() {
      const other = window.open(PERFETTO);
      if (!other) return;
      const bytes = Uint8Array.from(atob("DATA"), (each) => each.charCodeAt(0));
      const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      const buffer = await new Response(unpacked).arrayBuffer();
      const ask = setInterval(() => other.postMessage("PING", PERFETTO), 50);
      window.addEventListener("message", function answered(event) {
        if (event.source !== other || event.data !== "PONG") return;
        clearInterval(ask);
        window.removeEventListener("message", answered);
        other.postMessage({ perfetto: { buffer, title: TITLE, fileName: "smmux.json" } }, PERFETTO);
      });
    }
  }
})();
