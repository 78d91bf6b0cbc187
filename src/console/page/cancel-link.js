import { actButton } from './acts.js';
import { newFormId } from './form-id.js';

/**
 * The act that expires an unpaid link now; nothing for other links.
 *
 * @param {{ acquirerId: number, id: string, state: string, amount: string, reference: string }} link
 * @param {() => void} again
 */
export function cancelLink({ acquirerId, id, state, amount, reference }, again) {
  if (state !== 'open') return null;
  return actButton({
    label: 'Cancel',
    name: `Cancel the link ${reference}`,
    title: `Cancel the link of ${amount}?`,
    text: `The link ${reference} expires now: it can no longer be paid, and its reference becomes available. It cannot be undone.`,
    yes: 'Cancel the link',
    no: 'Keep the link',
    needsReason: true,
    body: () => ({ act: 'cancelLink', acquirerId, id, formId: newFormId() }),
    onDone: again,
  });
}
