import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import type { Installation } from './installation.ts';
import { outcomeOf } from './responses.ts';
import type { ReceivedRequest, ScriptedSwitch } from './scripted-switch.ts';
import { storedTransaction } from './transactions.ts';

/** A tap whose outcome is not known in time. */
export interface TapInVain {
  readonly id: string;
  /** The request that the switch received. */
  readonly sale: ReceivedRequest;
}

/** Taps at a switch that responds to no sale in time. */
export async function tapInVain(installation: Installation, scripted: ScriptedSwitch): Promise<TapInVain> {
  // On a busy machine the deadline can pass before anything is sent; then another tap is made.
  const response = await eventually(async () => {
    const outcome = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
    if (outcome.type === 'UnableToGoOnline') throw new Error('nothing was sent');
    return outcome;
  });
  expect(response.type).toBe('Indeterminate');
  const { id, rrn } = await storedTransaction(installation.database, response.serviceReference);
  return { id, sale: scripted.of('0200').find(({ message }) => message.rrn === rrn)! };
}
