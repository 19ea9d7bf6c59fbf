// Lets a reader enlarge pictures in SVG: by buttons, or by the wheel with Ctrl or Shift; a drag moves what is enlarged.
for (const image of document.querySelectorAll('article img[src$=".svg"]:not(a img)')) {
  const frame = document.createElement("div"), tools = document.createElement("p");
  let scale = 1, held = null;
  const zoom = (factor, x = frame.clientWidth / 2, y = frame.clientHeight / 2) => {
    if (scale === 1) frame.style.height = `${frame.clientHeight}px`; // what is larger scrolls in the same place
    const next = Math.min(8, Math.max(1, scale * factor)), grown = next / scale;
    const left = (frame.scrollLeft + x) * grown - x, top = (frame.scrollTop + y) * grown - y;
    image.style.width = `${100 * next}%`;
    frame.scrollTo(left, top);
    scale = next;
    if (scale === 1) frame.style.height = "";
  };
  frame.className = "zoomable";
  tools.className = "zoom-tools";
  image.replaceWith(tools, frame);
  frame.append(image);
  image.draggable = false;
  for (const [words, factor] of [["zoom in", 2], ["zoom out", 0.5], ["whole figure", 0]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", () => zoom(factor));
    tools.append(button, " ");
  }
  const alone = document.createElement("a");
  alone.href = image.src;
  alone.textContent = "as a file";
  tools.append(alone);
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoom(event.deltaY + event.deltaX > 0 ? 0.8 : 1.25, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  frame.addEventListener("pointerdown", (event) => {
    if (scale === 1 || event.pointerType === "touch") return; // fingers scroll by themselves
    held = { x: event.clientX + frame.scrollLeft, y: event.clientY + frame.scrollTop };
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointermove", (event) => {
    if (held) frame.scrollTo(held.x - event.clientX, held.y - event.clientY);
  });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => { held = null; });
}
