// A person's menu: a further device.

import { attempt } from "./notice.js";

/** `addDevice` opens the person's second device. */
export function showMenu(pane, person, { addDevice }) {
  const menu = pane.querySelector(".menu");
  const opener = menu.querySelector("summary");
  const device = menu.querySelector('[data-menu="device"]');
  opener.setAttribute("aria-label", `${person.title}: menu`);
  device.hidden = person.key !== "ada";
  device.setAttribute("aria-label", `Open ${person.name}’s second device`);

  const close = () => {
    menu.open = false;
  };
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    close();
    opener.focus();
  });
  // It closes when the focus or a click goes elsewhere.
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) close();
  });
  document.addEventListener("click", ({ target }) => menu.contains(target) || close());

  device.addEventListener("click", () => attempt(async () => {
    close();
    opener.focus();
    device.disabled = true;
    try {
      await addDevice();
    } catch (error) {
      device.disabled = false;
      throw error;
    }
  }));
  /** The second device is there. */
  const hasSecond = () => {
    device.disabled = true;
    device.textContent = "Second device is open";
  };
  return { hasSecond };
}
