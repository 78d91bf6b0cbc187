// Opens the payment app on Android by an intent (https://developer.chrome.com/docs/android/intents).

import { addressWithoutApp } from './link.js';

/** @param {string} name */
const settingOf = (name) =>
  /** @type {HTMLMetaElement | null} */ (document.querySelector(`meta[name="${name}"]`))?.content;

/**
 * The address that opens the payment app with a link.
 *
 * @param {import('./link.js').Link} link
 * @returns {string | undefined} undefined if there is no app to open
 */
export function appAddress(link) {
  const action = settingOf('intent-action');
  const packageName = settingOf('intent-package');
  if (!action || !/\bAndroid\b/.test(navigator.userAgent)) return undefined;
  /** @type {(name: string, value: string) => string} */
  const text = (name, value) => `S.${name}=${encodeURIComponent(value)}`;
  return [
    'intent:#Intent',
    `action=${action}`,
    ...(packageName ? [`package=${packageName}`] : []),
    'B.is_tap=true',
    text('transaction_id', link.reference),
    text('jwt', link.token),
    text('browser_fallback_url', addressWithoutApp(link)),
    'end',
  ].join(';');
}
