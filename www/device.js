// Ada's second device: the same wallet, a database and keys of its own.

import { Person } from "./person.js";
import { device } from "./wallet.js";

/** Its key: in the names of its database, of its pane, and of what the page remembers of it. */
export const SECOND = "ada-2";

/** Whether it was opened once. */
export const hasSecond = () => device.read(SECOND);

/** Opens it. It knows what the first one decided once both synced, and messages from then on. */
export async function openSecond(ada) {
  const second = new Person(SECOND, ada.name, ada.key);
  second.other = ada.other;
  await second.open();
  device.write(SECOND);
  return second;
}
