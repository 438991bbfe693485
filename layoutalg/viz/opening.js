  // The script stands in its picture. A viewer may have moved it: then the picture of the same name is taken, no other.
  const current = document.currentScript;
  const name = current ? current.dataset.of : "";
  const roots = current && current.closest("ROOT")
    ? [current.closest("ROOT")]
    : Array.from(document.querySelectorAll('ROOT[data-of="' + name + '"]')).filter((one) => !one.layoutalg);
  const root = roots[0];
  if (!root || root.layoutalg) return;
  root.layoutalg = true;
