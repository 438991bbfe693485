// What the page shows, as a flat object of texts, and as the part of the address behind `#`: a link opens the same view.
//
//   #tab=compare&text=d0+%3D+4%40lane&second=4%3A1
//
// Each browser tab has its own; nothing is stored. Texts of files that are too long for an address are left out of it.

const LONGEST = 32000;

export const DEFAULTS = {
  tab: "layout", text: "", shape: "", colour: "", direction: "", llvm: "", columns: "", operand: "", as: "", place: "", at: "",
  second: "", shape2: "", element: "f32", target: "pvc", pressure: "", expression: "", memory: "", access: "",
  query: "", file: "", m: "", n: "", k: "", a: "", b: "", c: "", chip: "pvc",
};

export function fromHash(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) if (given.has(name)) state[name] = given.get(name);
  return state;
}

export function toHash(state) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name === "tab" || (value !== DEFAULTS[name] && value.length <= LONGEST)) parts.set(name, value);
  }
  return `#${parts}`;
}

export function tooLong(state) {
  return Object.values(state).some((value) => value.length > LONGEST);
}
