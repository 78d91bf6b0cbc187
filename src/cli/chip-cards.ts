import { StartError } from '../basics/errors.ts';
import { type CardProfile, cardProfiles } from '../tools/simulator/issuer/chip-card.ts';
import { TEST_CARDS } from '../tools/simulator/issuer/test-cards.ts';
import { readJson } from './read-input.ts';

/**
 * The cards that `--issuer` names: `test`, or a JSON file.
 *
 * @throws StartError BAD_CONFIG with the places of faults, never with values, which can be card numbers or keys
 */
export function readChipCards(source: string): readonly CardProfile[] {
  if (source === 'test') return TEST_CARDS;
  const checked = cardProfiles.safeParse(readJson('--issuer', source));
  if (checked.success) return checked.data;
  const faults = checked.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
  throw new StartError('BAD_CONFIG', `${source} does not list chip cards:\n${faults.join('\n')}`);
}
