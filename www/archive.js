// Archives in a person's menu: saving one as a file, restoring one, how far it got.

import { setText } from "./dom.js";
import { errorText } from "./format.js";

const SIZE = new Intl.NumberFormat(undefined, { style: "unit", unit: "kilobyte", maximumFractionDigits: 1 });
const COUNT = new Intl.NumberFormat();

/** `box` tells how it goes; gives what the items of the menu do. */
export function showArchives(box, person) {
  const text = box.querySelector("p");
  const bar = box.querySelector("progress");
  box.querySelector("button").addEventListener("click", () => {
    box.hidden = true;
  });

  /** Runs something that takes a while; what goes wrong stays readable here. */
  const show = async (beginning, act) => {
    box.hidden = false;
    box.classList.remove("wrong");
    bar.hidden = false;
    // Without a value until it is known how far it got.
    bar.removeAttribute("value");
    setText(text, beginning);
    try {
      setText(text, await act());
    } catch (error) {
      box.classList.add("wrong");
      setText(text, errorText(error));
    } finally {
      bar.hidden = true;
    }
  };

  const save = () =>
    show("Making an archive…", async () => {
      const bytes = await person.createArchive();
      download(bytes, `dovetail-${person.key}.archive`);
      return `Archive saved, ${SIZE.format(bytes.length / 1_000)}, sealed with a key of ${person.name}’s wallet.`;
    });

  const restore = (file) =>
    show(`Reading ${file.name}…`, async () => {
      let read = 0;
      await person.importArchive(new Uint8Array(await file.arrayBuffer()), ({ readBytes, totalBytes, elements }) => {
        read = elements;
        bar.max = totalBytes;
        bar.value = readBytes;
        setText(text, `Restoring: ${COUNT.format(elements)} read`);
      });
      return `Restored: ${COUNT.format(read)} conversations, messages and decisions were in the archive.`;
    });
  return { save, restore };
}

function download(bytes, name) {
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser takes the bytes after the click was handled.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
