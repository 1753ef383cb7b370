// A person's menu: a further device, archives.

import { showArchives } from "./archive.js";
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
  const leave = () => {
    close();
    opener.focus();
  };
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    leave();
  });
  // It closes when the focus or a click goes elsewhere.
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) close();
  });
  document.addEventListener("click", ({ target }) => menu.contains(target) || close());

  device.addEventListener("click", () => attempt(async () => {
    leave();
    device.disabled = true;
    try {
      await addDevice();
    } catch (error) {
      device.disabled = false;
      throw error;
    }
  }));
  const archives = showArchives(pane.querySelector(".archive"), person);
  const file = menu.querySelector("input");
  menu.querySelector('[data-menu="save"]').addEventListener("click", () => {
    leave();
    archives.save();
  });
  menu.querySelector('[data-menu="restore"]').addEventListener("click", () => {
    leave();
    file.click();
  });
  file.addEventListener("change", () => {
    const [chosen] = file.files;
    if (chosen) archives.restore(chosen);
    // The same file can be chosen again.
    file.value = "";
  });

  /** The second device is there. */
  const hasSecond = () => {
    device.disabled = true;
    device.textContent = "Second device is open";
  };
  return { hasSecond };
}
