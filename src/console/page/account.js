import { changeAccount, readAccount, readAllSessions } from './ask.js';
import { byId, h, setText, table } from './dom.js';
import { acquirerName } from './names.js';
import { addView } from './router.js';
import { time, whenZoneChanges } from './time.js';

/** @typedef {import('./ask.js').Json<import('../account.ts').ShownAccount>} Account */
/** @typedef {Account['sessions'][number]} Session */

/** `/ops/account`: the one-time codes and sessions of the person, and for administrators the sessions of all users. */

const SVG = 'http://www.w3.org/2000/svg';
/** Light modules around a QR code that readers need. */
const QUIET_MODULES = 4;

let reading = 0;
/** @type {Account} */
let account;
/** @type {Session[] | undefined} */
let allSessions;
/** A new key or recovery codes are on the screen, which are shown once: an update of the page must not replace them. */
let isShowingSecret = false;

export function openAccount() {
  addView({ path: /^\/ops\/account\/?$/, element: byId('account'), open: () => void read(), close });
  byId('others-end').onclick = () => void run({ act: 'endOtherSessions' }, read);
  whenZoneChanges(() => account && showSessions());
}

function close() {
  reading++;
  isShowingSecret = false;
}

async function read() {
  const mine = ++reading;
  try {
    const found = await readAccount();
    const all = found.isAdmin ? (await readAllSessions()).sessions : undefined;
    if (mine !== reading) return;
    [account, allSessions] = [found, all];
    showSessions();
    if (isShowingSecret) return;
    say('');
    showFactor();
  } catch (error) {
    if (mine === reading) say(error.message);
  }
}

/** @param {string} text */
const say = (text) => setText(byId('account-said'), text);

/**
 * @param {object} body
 * @param {(result: any) => unknown} then
 */
async function run(body, then) {
  try {
    await then(await changeAccount(body));
  } catch (error) {
    say(error.message);
  }
}

function showFactor() {
  const { issuer, hasSecondFactor, mustEnrol } = account;
  if (issuer) {
    const text = `You signed in with ${issuer}, which decides on your second factor.`;
    byId('factor').replaceChildren(h('p', {}, text));
    return;
  }
  const state = hasSecondFactor
    ? 'Your login needs a one-time code from your authenticator app.'
    : 'Your login needs only your password. With one-time codes, a stolen password is not enough.';
  const required =
    mustEnrol && h('p', { class: 'alarm' }, 'Set up one-time codes to continue. This console requires them.');
  byId('factor').replaceChildren(...[required, h('p', {}, state), passwordForm(hasSecondFactor)].filter(Boolean));
}

/** @param {boolean} hasSecondFactor */
function passwordForm(hasSecondFactor) {
  const begin = hasSecondFactor ? 'Set up new codes' : 'Set up one-time codes';
  /** @type {(name: string, label: string, props: object) => HTMLElement} */
  const field = (name, label, props) => h('label', {}, `${label} `, h('input', { name, ...props }));
  /** @type {(act: string, label: string, props?: object) => HTMLElement} */
  const submit = (act, label, props) => h('button', { type: 'submit', value: act, ...props }, label);
  return h(
    'form',
    {
      class: 'filters',
      onsubmit: (/** @type {SubmitEvent & { submitter: HTMLButtonElement | null, target: any }} */ event) => {
        event.preventDefault();
        const { password, code } = event.target.elements;
        const given = { password: password.value, ...(code?.value && { code: code.value }) };
        const act = event.submitter?.value ?? 'beginTotp';
        void run({ act, ...given }, act === 'beginTotp' ? showEnrolment : () => location.reload());
        password.value = '';
      },
    },
    field('password', 'Your password', {
      ...{ type: 'password', autocomplete: 'current-password', required: true, maxlength: 256 },
    }),
    hasSecondFactor && field('code', 'Present code or recovery code', codeProps),
    h(
      'span',
      { class: 'filter-buttons' },
      submit('beginTotp', begin),
      hasSecondFactor && submit('removeTotp', 'Remove', { class: 'quiet' }),
    ),
  );
}

const codeProps = { autocomplete: 'one-time-code', spellcheck: 'false', required: true, maxlength: 40 };

/** @param {import('../../auth/totp/second-factor.ts').EnrolmentCode} code */
function showEnrolment({ secret, size, path }) {
  isShowingSecret = true;
  say('');
  const code = h('input', { ...codeProps, name: 'code', inputmode: 'numeric', pattern: '[0-9 ]{6,7}' });
  const form = h(
    'form',
    {
      class: 'filters',
      onsubmit: (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        void run({ act: 'confirmTotp', code: code.value }, showRecoveryCodes);
      },
    },
    h('label', {}, 'Code in the app ', code),
    h('span', { class: 'filter-buttons' }, h('button', { type: 'submit' }, 'Confirm')),
  );
  byId('factor').replaceChildren(
    h('p', {}, 'Scan this with an authenticator app, or type the key. Then type the code that the app shows.'),
    qrCode(size, path),
    h('p', {}, 'Key ', h('code', { class: 'long' }, secret.match(/.{4}/g)?.join(' '))),
    form,
  );
  code.focus();
}

/**
 * @param {number} size
 * @param {string} path
 */
function qrCode(size, path) {
  const side = size + 2 * QUIET_MODULES;
  const svg = document.createElementNS(SVG, 'svg');
  const box = `${-QUIET_MODULES} ${-QUIET_MODULES} ${side} ${side}`;
  const attributes = { viewBox: box, class: 'qr', role: 'img', 'aria-label': 'QR code of the key' };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  const dark = document.createElementNS(SVG, 'path');
  dark.setAttribute('d', path);
  svg.append(dark);
  return svg;
}

/** @param {{ recoveryCodes: string[] }} result */
function showRecoveryCodes({ recoveryCodes }) {
  isShowingSecret = true;
  say('');
  const goOn = h('button', { type: 'button', onclick: () => location.reload() }, 'I have kept them');
  byId('factor').replaceChildren(
    h('p', {}, 'One-time codes are set up, and your other sessions have ended.'),
    h(
      'p',
      {},
      'Keep these recovery codes in a safe place. Each replaces a one-time code once, and they are not shown again.',
    ),
    h(
      'ul',
      { class: 'recovery' },
      recoveryCodes.map((each) => h('li', {}, h('code', {}, each))),
    ),
    goOn,
  );
  goOn.focus();
}

function showSessions() {
  byId('others-end').disabled = account.sessions.length < 2;
  byId('own-sessions').replaceChildren(sessionTable(account.sessions, false));
  byId('all-sessions-card').hidden = allSessions === undefined;
  if (allSessions) byId('all-sessions').replaceChildren(sessionTable(allSessions, true));
}

/**
 * @param {readonly Session[]} sessions
 * @param {boolean} withUser
 */
function sessionTable(sessions, withUser) {
  const titles = [...(withUser ? ['User'] : []), 'Began', 'Last used', 'From', 'Browser', 'End'];
  return table(
    titles,
    sessions.map((session) => sessionRow(session, withUser)),
  );
}

/** Browsers name others for compatibility, so the order matters. */
const BROWSERS = [['Edg', 'Edge'], ['OPR', 'Opera'], ['Firefox'], ['Chrome'], ['Safari']];
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux'];

/** @param {string} agent */
function browserName(agent) {
  const [sign, name = sign] = BROWSERS.find(([each]) => agent.includes(`${each}/`)) ?? [];
  const system = SYSTEMS.find((each) => agent.includes(each));
  return [name ?? (agent.slice(0, 40) || '–'), system && `on ${system}`].filter(Boolean).join(' ');
}

/**
 * @param {Session} session
 * @param {boolean} withUser
 */
function sessionRow({ id, username, issuer, acquirerId, beganAt, actedAt, address, agent, isThis }, withUser) {
  const owner = acquirerId === 0 ? 'installation' : acquirerName(acquirerId);
  const user = `${username || 'removed user'}${issuer ? ` of ${issuer}` : ''}, ${owner}`;
  const name = `End the session of ${username} from ${address || 'an unknown address'}`;
  const end = () => void run({ act: 'endSession', id }, read);
  return h(
    'tr',
    {},
    withUser && h('td', {}, h('span', { class: 'long' }, user)),
    h('td', {}, time(beganAt)),
    h('td', {}, time(actedAt)),
    h('td', {}, address || '–'),
    h('td', {}, h('span', { title: agent }, browserName(agent))),
    h(
      'td',
      {},
      isThis
        ? h('span', { class: 'chip', 'data-state': 'good' }, 'this one')
        : h('button', { type: 'button', class: 'act', 'aria-label': name, onclick: end }, 'End'),
    ),
  );
}
