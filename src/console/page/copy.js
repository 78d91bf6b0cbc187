import { h } from './dom.js';

const SHOWN_MS = 1_500;

/**
 * A small button that copies a text.
 *
 * @param {string} text
 * @param {string} what the name of the text, for screen readers
 * @param {string} [label]
 */
export function copyButton(text, what, label = 'Copy') {
  const button = h('button', { type: 'button', class: 'copy', 'aria-label': `${label} ${what}` }, label);
  button.onclick = async () => {
    button.textContent = (await copy(text)) ? 'Copied' : 'Not copied';
    setTimeout(() => {
      button.textContent = label;
    }, SHOWN_MS);
  };
  return button;
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/**
 * Browsers offer their clipboard only to HTTPS and to this machine.
 *
 * @param {string} text
 */
function copyBySelection(text) {
  const field = h('textarea', { class: 'unseen', 'aria-hidden': 'true', tabindex: -1 });
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  return isCopied;
}
