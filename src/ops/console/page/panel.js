import { byId } from './dom.js';

/** The panel that shows a transaction, or a list of transactions, over the figures. */
export function openPanel(title, content, back) {
  const dialog = byId('panel');
  byId('panel-title').textContent = title;
  byId('panel-body').replaceChildren(content);
  byId('panel-back').hidden = back === undefined;
  byId('panel-back').onclick = back ?? null;
  byId('panel-close').onclick = () => dialog.close();
  if (!dialog.open) dialog.showModal();
  byId('panel-body').scrollTop = 0;
  byId('panel-title').focus();
}
