import { act } from './ask.js';
import { byId, h } from './dom.js';

let mayAct = false;

export function setMayAct(may) {
  mayAct = may;
  document.body.classList.toggle('may-act', may);
}

export function isAllowedToAct() {
  return mayAct;
}

/** A button for an act, with a confirmation; nothing for a user who may only look. */
export function actButton({ label, name, title, text, yes, body, onDone }) {
  if (!mayAct) return null;
  return h(
    'button',
    {
      type: 'button',
      class: 'act',
      'aria-label': name ?? label,
      onclick: () => askFirst({ title, text, yes, body: typeof body === 'function' ? body() : body, onDone }),
    },
    label,
  );
}

/** @param send what a confirmation does; by default, the act `body` */
export function askFirst({ title, text, yes, body, send = () => act(body), onDone }) {
  const dialog = byId('sure');
  byId('sure-title').textContent = title;
  byId('sure-text').textContent = text;
  byId('sure-said').textContent = '';
  byId('sure-yes').textContent = yes;
  byId('sure-yes').disabled = false;
  byId('sure-no').onclick = () => dialog.close();
  byId('sure-form').onsubmit = async (event) => {
    event.preventDefault();
    byId('sure-yes').disabled = true;
    try {
      await send();
      dialog.close();
      onDone?.();
    } catch (error) {
      byId('sure-said').textContent = error.message;
      byId('sure-yes').disabled = false;
    }
  };
  dialog.showModal();
  byId('sure-no').focus();
}
