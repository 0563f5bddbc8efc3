// What this browser keeps: the theme and a name for good, the key while the tab is open.

export function read(name, store = localStorage) {
  try {
    return store.getItem(name) ?? "";
  } catch {
    return "";
  }
}

export function write(name, value, store = localStorage) {
  try {
    if (value) store.setItem(name, value);
    else store.removeItem(name);
  } catch {
    // Nothing is kept, and nothing is lost by it.
  }
}

export const key = () => read("rars-key", sessionStorage);
export const user = () => read("rars-user").slice(0, 200);
