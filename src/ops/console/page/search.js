import { search } from './ask.js';
import { byId, h, table, time } from './dom.js';
import { openPanel } from './panel.js';
import { openTransaction } from './transaction.js';

const BY = {
  id: 'id',
  reference: 'merchant reference',
  rrn: 'RRN',
  stan: 'STAN',
  maskedPan: 'masked card number',
  panHash: 'card',
  owed: 'open reversals',
  review: 'need for review',
};
/** Default period of one day for searches that do not select a time. */
const USUAL_HOURS = 24;

export function openSearch() {
  byId('search').onsubmit = async (event) => {
    event.preventDefault();
    const query = byId('query').value.trim();
    if (query === '') return;
    await find(query, Number(byId('hours').value));
  };
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest('input, select, textarea, dialog');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    byId('query').focus();
  });
}

export async function find(query, hours = USUAL_HOURS) {
  // A card number is removed from the input; the result shows it masked.
  if (/^\d{13,19}$/.test(query.replace(/[ -]/g, ''))) byId('query').value = '';
  try {
    const { by, found } = await search(query, hours);
    const list = () => showList(by, found);
    if (found.length === 1) await openTransaction(found[0].acquirerId, found[0].id);
    else list();
  } catch (error) {
    openPanel('The search failed', h('p', { role: 'alert' }, error.message));
  }
}

function showList(by, found) {
  const back = () => showList(by, found);
  if (found.length === 0) {
    openPanel(
      'No results',
      h(
        'p',
        {},
        'No transaction has this id or reference, and none in the selected period has this STAN, RRN or card.',
      ),
    );
    return;
  }
  const rows = found.map((each) => foundRow(each, back));
  openPanel(
    `${found.length} transactions by ${by.map((each) => BY[each]).join(' and ')}`,
    h('div', { class: 'scroll' }, table(['When', 'Amount', 'Outcome', 'Card', 'Merchant', 'Reference'], rows)),
  );
}

function foundRow(each, back) {
  const open = () => openTransaction(each.acquirerId, each.id, back);
  return h(
    'tr',
    {},
    h('td', {}, h('button', { type: 'button', class: 'link', onclick: open }, time(each.createdAt))),
    h('td', { class: 'n' }, each.amount ?? '–'),
    h('td', {}, [each.disposition ?? each.status, each.responseCode].filter(Boolean).join(' ')),
    h('td', { class: 'mono' }, [each.scheme, each.maskedPan].filter(Boolean).join(' ')),
    h('td', {}, `${each.acquirerId} · ${each.merchantId}`),
    h('td', { class: 'mono' }, each.merchantReference),
  );
}
