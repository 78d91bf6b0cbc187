import { changeAccount, readViews } from './ask.js';
import { byId, h, setText } from './dom.js';
import { addressOf, readAddress } from './list-filter.js';

/** Saved views of the list: names of filters, which the gateway keeps for the person. */

/** @typedef {Awaited<ReturnType<typeof readViews>>} Saved */

/** @param {Promise<Saved>} asked */
async function show(asked) {
  setText(byId('list-views-said'), '');
  try {
    const { views } = await asked;
    setText(byId('list-views-title'), views.length === 0 ? 'Views' : `Views (${views.length})`);
    byId('list-views-list').replaceChildren(
      ...views.map(({ name, filter }) => {
        const onclick = () => show(changeAccount({ act: 'removeView', name }));
        const remove = { type: 'button', class: 'act', 'aria-label': `Remove the view ${name}`, onclick };
        const view = h('a', { href: addressOf(filter), 'data-view': true }, name);
        return h('li', {}, view, ' ', h('button', remove, 'Remove'));
      }),
    );
    return true;
  } catch (error) {
    setText(byId('list-views-said'), error.message);
  }
}

/** Reads the views of the person who has signed in. */
export function openViews() {
  byId('list-views-form').onsubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const field = byId('list-views-name');
    const filter = readAddress(new URLSearchParams(location.search));
    if (await show(changeAccount({ act: 'saveView', name: field.value.trim(), filter }))) field.value = '';
  };
  void show(readViews());
}
