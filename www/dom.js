// The few helpers this page needs instead of a framework.

/** A new element: properties, then children. `class`, `data-…`, `aria-…` and `role` are attributes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** Sets a text only if it differs, so that nothing is announced or selected anew. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Makes the children of `parent` those of `items`, in order, keeping the element of every key that
 * stays: focus, selection and scroll position survive.
 */
export function showItems(parent, items, { key, create, update }) {
  const kept = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let element = kept.get(name);
    kept.delete(name);
    if (!element) {
      element = create(item);
      element.dataset.key = name;
    }
    update(element, item);
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
  }
  for (const gone of kept.values()) gone.remove();
}

/**
 * Arrow keys, Home and End move through the elements that match, with one tab stop for all of them.
 * Gives a function to call after the elements changed.
 */
export function moveWithArrows(container, selector) {
  const all = () => [...container.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  const settle = () => {
    const elements = all();
    const stop =
      elements.find((element) => element === document.activeElement) ??
      elements.find((element) => element.hasAttribute("aria-current")) ??
      elements[0];
    for (const element of elements) element.tabIndex = element === stop ? 0 : -1;
  };
  container.addEventListener("keydown", (event) => {
    const elements = all();
    const at = elements.indexOf(event.target);
    if (at < 0) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: elements.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    elements[to]?.focus();
  });
  container.addEventListener("focusin", settle);
  // A fold opened or closed; this event does not bubble.
  container.addEventListener("toggle", settle, true);
  return settle;
}
