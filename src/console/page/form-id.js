/**
 * Ids of forms whose act must happen once. What a form sends again after a lost response has the same id, also after a
 * reload: the id of a form that was sent is kept in this tab until its outcome is known.
 */

const FORM_ID_BYTES = 16;

/** `crypto.randomUUID` exists only over HTTPS. */
export function newFormId() {
  const bytes = crypto.getRandomValues(new Uint8Array(FORM_ID_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {string} name */
const keyOf = (name) => `sent form: ${name}`;

/**
 * @param {string} name of the form, with the id of its subject
 * @param {string} formId
 */
export const keepSent = (name, formId) => sessionStorage.setItem(keyOf(name), formId);
/**
 * Null if no form of this name awaits its outcome.
 *
 * @param {string} name
 */
export const sentForm = (name) => sessionStorage.getItem(keyOf(name));
/** @param {string} name */
export const forgetSent = (name) => sessionStorage.removeItem(keyOf(name));
