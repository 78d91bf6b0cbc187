import { byId, h } from './dom.js';
import { go } from './router.js';

/** Keyboard shortcuts. A person can turn them off, because software that types by voice can press single keys. */

const STORED_AS = 'shortcuts';
/** After `g`, the next key must be pressed within this time, however late a busy page learns of it. */
const SEQUENCE_MS = 1_500;
/** @type {Record<string, [address: string, name: string]>} */
const VIEWS = {
  o: ['/ops', 'Overview'],
  h: ['/ops/history', 'History'],
  t: ['/ops/transactions', 'Transactions'],
  w: ['/ops/work/webhooks', 'Work'],
  s: ['/ops/settings', 'Settings'],
  d: ['/ops/codec', 'Decode'],
  a: ['/ops/account', 'Your account'],
};

let pressedAtMs = Number.NEGATIVE_INFINITY;

export function openKeys() {
  const dialog = byId('keys');
  const lines = [
    [['/'], 'Find a transaction'],
    ...Object.entries(VIEWS).map(([key, [, name]]) => [['g', key], name]),
    [['Esc'], 'Close a dialog'],
    [['?'], 'Show this list'],
  ];
  byId('keys-list').replaceChildren(
    ...lines.map(([keys, name]) =>
      h(
        'div',
        {},
        h(
          'dt',
          {},
          /** @type {string[]} */ (keys).flatMap((key) => [h('kbd', {}, key), ' ']),
        ),
        h('dd', {}, name),
      ),
    ),
  );
  const use = byId('keys-use');
  use.checked = localStorage.getItem(STORED_AS) !== 'off';
  use.onchange = () => localStorage.setItem(STORED_AS, use.checked ? 'on' : 'off');
  byId('keys-show').onclick = () => dialog.showModal();
  document.addEventListener('keydown', (event) => {
    const isTyping = /** @type {Element} */ (event.target).closest('input, select, textarea, dialog');
    const isIn = document.body.classList.contains('is-in') && !document.body.classList.contains('must-enrol');
    if (isTyping || !isIn || !use.checked || event.ctrlKey || event.metaKey || event.altKey) return;
    const isSecond = event.timeStamp - pressedAtMs < SEQUENCE_MS;
    pressedAtMs = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
    const act = isSecond ? VIEWS[event.key] && (() => go(VIEWS[event.key][0])) : ACTS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** @type {Record<string, () => void>} */
const ACTS = {
  '/': () => {
    byId('bar').classList.add('is-open');
    byId('query').select();
  },
  '?': () => byId('keys').showModal(),
};
