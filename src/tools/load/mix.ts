import { readFileSync, statSync } from 'node:fs';
import { type LoadMix, loadMix } from '#schemas/load-mix';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { LoadError } from '../../basics/errors.ts';
import type { Random } from '../simulator/random.ts';
import { findScenario, SCENARIO_NAMES } from './scenarios.ts';

/** The mix of a busy day. */
const DEFAULT_MIX: LoadMix = { approve: 80, decline: 8, pin: 3, timeout: 0.1, status: 6, list: 2.9 };
const LINK_WEIGHT = 2;

/** The default mix: with links only if there is an API key to create them with. */
export function defaultMix({ apiKey }: { readonly apiKey?: string | undefined }): LoadMix {
  return apiKey === undefined ? DEFAULT_MIX : { ...DEFAULT_MIX, link: LINK_WEIGHT };
}

/** A page of text; a mix has a few lines. */
const MAX_FILE_BYTES = 64 * 1024;

/**
 * Reads a file of scenarios with weights.
 *
 * @throws LoadError BAD_FILE naming what is wrong
 */
export function readMix(path: string): LoadMix {
  const fault = (why: string) => new LoadError('BAD_FILE', `--mix ${path}: ${why}`);
  let value: unknown;
  try {
    if (statSync(path).size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES} bytes`);
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw fault(describeSystemError(cause));
  }
  const checked = loadMix.safeParse(value);
  if (!checked.success) {
    const { path: where, message } = checked.error.issues[0]!;
    throw fault(`${where.length > 0 ? `${where.join('.')}: ` : ''}${message}; expected {"approve": 90, "decline": 10}`);
  }
  const unknown = Object.keys(checked.data).find((name) => findScenario(name) === undefined);
  if (unknown !== undefined) throw fault(`unknown scenario ${unknown}; known are ${SCENARIO_NAMES.join(', ')}`);
  return checked.data;
}

/** Draws the names of scenarios at random, in proportion to their weights. */
export function mixDraw(mix: LoadMix, random: Random): () => string {
  const entries = Object.entries(mix).filter(([, weight]) => weight > 0);
  const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
  return () => {
    let left = random.next() * total;
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries.at(-1)![0];
  };
}
