  // The script stands in its picture. A viewer may have moved it: then the picture of the same name is taken, no other.
  const current = document.currentScript;
  const name = current ? current.dataset.of : "";
  const roots = current && current.closest("ROOT")
    ? [current.closest("ROOT")]
    : Array.from(document.querySelectorAll('ROOT[data-of="' + name + '"]')).filter((one) => !one.layoutalg);
  const root = roots[0];
  if (!root || root.layoutalg) return;
  root.layoutalg = true;

  // The drawing in a box, as elements of this page. It shrinks with the page, but not until it can't be read: then it scrolls.
  function drawingOf(box) {
    const image = box.querySelector("img");
    if (image) {
      const bytes = Uint8Array.from(atob(image.src.split(",")[1]), (c) => c.charCodeAt(0));
      const parsed = new DOMParser().parseFromString(new TextDecoder().decode(bytes), "image/svg+xml");
      image.replaceWith(document.importNode(parsed.documentElement, true));
    }
    const svg = box.querySelector("svg");
    box.style.overflowX = "auto";
    svg.style.maxWidth = "100%";
    svg.style.minWidth = Math.round(0.64 * Number(svg.getAttribute("width"))) + "px";
    svg.style.height = "auto";
    return svg;
  }
