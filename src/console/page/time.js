/** Times as people read them, in the zone that the person chose. */

const OWN = Intl.DateTimeFormat().resolvedOptions().timeZone;
let zone = /** @type {string} */ (isZone(localStorage.getItem('zone')) ? localStorage.getItem('zone') : OWN);
let formats = formatsOf(zone);
/** @type {(() => void)[]} */
const listeners = [];

/** @param {string | null} name */
function isZone(name) {
  if (!name) return false;
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

/** @param {string} timeZone */
function formatsOf(timeZone) {
  const format = (
    /** @type {Intl.DateTimeFormatOptions} */ options,
    /** @type {string} */ language = navigator.language,
  ) => new Intl.DateTimeFormat(language, { timeZone, ...options });
  const day = /** @type {const} */ ({ day: '2-digit', month: 'short', year: 'numeric' });
  const clock = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  return {
    moment: format({ ...day, ...clock }),
    clock: format(clock),
    day: format({ day: '2-digit', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
    zone: format({ timeZoneName: 'short' }),
    parts: format({ ...day, month: '2-digit', ...clock }, 'en-GB'),
  };
}

/** @param {() => void} listener */
export function whenZoneChanges(listener) {
  listeners.push(listener);
}

/** @param {string} name */
function setZone(name) {
  zone = name;
  formats = formatsOf(name);
  localStorage.setItem('zone', name);
  for (const listener of listeners) listener();
}

/** `SAST`, or `UTC+2` where the zone has no short name in English. */
export function zoneName(at = new Date()) {
  return formats.zone.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? zone;
}

/**
 * A time without its zone, for tables whose title names the zone.
 *
 * @param {string} iso
 */
export const plainTime = (iso) => formats.moment.format(new Date(iso));
/** @param {number} at */
export const clockTime = (at) => formats.clock.format(new Date(at));
/**
 * A time with its day, in the last weeks.
 *
 * @param {number} at
 */
export const dayTime = (at) => formats.day.format(new Date(at));
/**
 * A time with its zone.
 *
 * @param {string} iso
 */
export const time = (iso) => `${plainTime(iso)} ${zoneName(new Date(iso))}`;

/**
 * The time of a field for date and time, which has no zone of its own.
 *
 * @param {string} text
 * @returns ISO 8601 in UTC
 */
export function readLocal(text) {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  // The offset at the time itself: the first guess may be on the other side of a change of the clocks.
  const guess = asUtc - offsetMs(asUtc);
  return new Date(asUtc - offsetMs(guess)).toISOString();
}

/**
 * @param {string} iso
 * @returns the text of a field for date and time
 */
export function writeLocal(iso) {
  const atMs = Date.parse(iso);
  return Number.isNaN(atMs) ? '' : new Date(atMs + offsetMs(atMs)).toISOString().slice(0, 19);
}

/** @param {number} atMs */
function offsetMs(atMs) {
  const whole = Math.floor(atMs / 1_000) * 1_000;
  const part = Object.fromEntries(formats.parts.formatToParts(new Date(whole)).map(({ type, value }) => [type, value]));
  const { year, month, day, hour, minute, second } = part;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - whole;
}

/**
 * Fills the list of zones: those that an operator is likely to need first.
 *
 * @param {HTMLSelectElement} select
 */
export function openZones(select) {
  const others = Intl.supportedValuesOf('timeZone');
  for (const name of new Set([zone, OWN, 'UTC', ...others])) {
    const option = document.createElement('option');
    option.value = name;
    option.textContent = name;
    select.append(option);
  }
  select.value = zone;
  select.onchange = () => setZone(select.value);
}
