import { exportTransactions } from './ask.js';
import { byId, count, h, setText } from './dom.js';

/** An export of the list. It continues in the background: its progress is shown in every view. */

const KEPT_FOR_MS = 60_000;

/** @type {AbortController | undefined} */
let running;

export const isExporting = () => running !== undefined;

/** @param {object} filter of the list */
export async function startExport(filter) {
  const mine = new AbortController();
  running = mine;
  const bar = byId('export-bar');
  const button = byId('export-end');
  byId('list-export').disabled = true;
  byId('export').hidden = false;
  bar.hidden = false;
  bar.removeAttribute('value');
  setText(byId('export-rows'), 'Exporting');
  setText(byId('export-said'), '');
  setText(button, 'Cancel');
  button.onclick = () => {
    mine.abort();
    byId('export').hidden = true;
  };
  let done = 0;
  try {
    const file = await exportTransactions(
      filter,
      (rows, all) => {
        done = rows;
        bar.max = Math.max(all, rows, 1);
        bar.value = rows;
        setText(byId('export-rows'), `${count(rows)} of ${count(Math.max(all, rows))} rows`);
      },
      mine.signal,
    );
    save(file);
    setText(byId('export-said'), `The file has ${count(done)} ${done === 1 ? 'row' : 'rows'}.`);
  } catch (error) {
    setText(byId('export-said'), mine.signal.aborted ? '' : error.message);
  }
  running = undefined;
  bar.hidden = true;
  setText(byId('export-rows'), 'Export');
  setText(button, 'Close');
  byId('list-export').disabled = false;
}

/** @param {Blob} file */
function save(file) {
  const href = URL.createObjectURL(file);
  const name = `transactions-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}Z.csv`;
  h('a', { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEPT_FOR_MS);
}
