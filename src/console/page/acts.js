import { act } from './ask.js';
import { byId, h } from './dom.js';

let mayAct = false;

/** @param {boolean} may */
export function setMayAct(may) {
  mayAct = may;
  document.body.classList.toggle('may-act', may);
}

export function isAllowedToAct() {
  return mayAct;
}

/**
 * @typedef {object} Confirmation
 * @property {string} title
 * @property {string} text
 * @property {[name: string, value: unknown][]} [facts] what the act concerns, and what it leaves
 * @property {string} yes word on the button that confirms
 * @property {string} [no]
 * @property {boolean} [needsReason] the person must write a reason, which becomes part of the act
 * @property {object | (() => object)} [body] the act
 * @property {() => Promise<unknown>} [send] what a confirmation does; by default, the act `body`
 * @property {() => void} [onDone]
 */

/**
 * A button for an act, with a confirmation; nothing for a user who may only look.
 *
 * @param {Confirmation & { label: string, name?: string, isProminent?: boolean }} act
 */
export function actButton({ label, name, body, isProminent, ...confirmation }) {
  if (!mayAct) return null;
  return h(
    'button',
    {
      type: 'button',
      class: isProminent ? 'quiet' : 'act',
      'aria-label': name ?? label,
      onclick: () => askFirst({ ...confirmation, body: typeof body === 'function' ? body() : body }),
    },
    label,
  );
}

/** @param {Confirmation} confirmation */
export function askFirst({ title, text, facts = [], yes, no = 'Cancel', needsReason = false, body, send, onDone }) {
  const dialog = byId('sure');
  byId('sure-title').textContent = title;
  byId('sure-text').textContent = text;
  byId('sure-facts').replaceChildren(
    ...facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value)))),
  );
  byId('sure-said').textContent = '';
  byId('sure-yes').textContent = yes;
  byId('sure-yes').disabled = false;
  byId('sure-no').textContent = no;
  const reason = byId('sure-reason');
  reason.value = '';
  reason.required = needsReason;
  reason.closest('label').hidden = !needsReason;
  byId('sure-no').onclick = () => dialog.close();
  byId('sure-form').onsubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    byId('sure-yes').disabled = true;
    try {
      await (send ? send() : act({ ...body, ...(needsReason && { reason: oneLine(reason.value) }) }));
      dialog.close();
      onDone?.();
    } catch (error) {
      byId('sure-said').textContent = error.message;
      byId('sure-yes').disabled = false;
    }
  };
  dialog.showModal();
  (needsReason ? reason : byId('sure-no')).focus();
}

/** @param {string} text */
export const oneLine = (text) => text.replace(/\s+/g, ' ').trim();
