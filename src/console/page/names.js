import { readNames } from './ask.js';

/** Names of acquirers and processors, with their ids beside. */

const RENEWED_EVERY_MS = 60_000;
/**
 * @type {{
 *   acquirers: { id: number, name: string }[],
 *   processors: { acquirerId: number, id: number, name: string, isRemoved?: boolean }[],
 * }}
 */
let names = { acquirers: [], processors: [] };
/** @type {ReturnType<typeof setInterval> | undefined} */
let renewing;
/** @type {((given: typeof names) => void)[]} */
const listeners = [];

/** @param {(given: typeof names) => void} listener */
export function whenNamesChange(listener) {
  listeners.push(listener);
}

export async function openNames() {
  clearInterval(renewing);
  renewing = setInterval(renew, RENEWED_EVERY_MS);
  await renew();
}

/** Reads the names again. Without names, ids are shown. */
async function renew() {
  try {
    names = await readNames();
  } catch {
    return;
  }
  for (const listener of listeners) listener(names);
}

/**
 * @param {string | null | undefined} name
 * @param {number | string} id
 */
const named = (name, id) => (name ? `${name} (${id})` : String(id));

/** @param {number} id */
export function acquirerName(id) {
  return named(names.acquirers.find((each) => each.id === id)?.name, id);
}

/**
 * @param {number} acquirerId
 * @param {number} id
 */
function processorOf(acquirerId, id) {
  return names.processors.find((each) => each.acquirerId === acquirerId && each.id === id);
}

/**
 * `Main switch (1 · 2)`; a processor without a name has the name of its acquirer.
 *
 * @param {number} acquirerId
 * @param {number} id
 */
export function processorName(acquirerId, id) {
  const name = processorOf(acquirerId, id)?.name ?? names.acquirers.find((each) => each.id === acquirerId)?.name;
  return named(name, `${acquirerId} · ${id}`);
}

/** @param {string} name */
export function switchName(name) {
  const [acquirerId, id] = name.split(' ').map(Number);
  return processorName(acquirerId, id);
}

/**
 * @param {string | null | undefined} name
 * @param {string} id
 */
export const merchantName = (name, id) => named(name, id);
