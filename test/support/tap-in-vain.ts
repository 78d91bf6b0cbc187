import { expect } from 'vitest';
import { outcomeOf } from './answers.ts';
import type { Installation } from './installation.ts';
import type { ReceivedRequest, ScriptedSwitch } from './scripted-switch.ts';
import { storedTransaction } from './transactions.ts';

/** A tap whose outcome is not known in time. */
export interface TapInVain {
  readonly id: string;
  /** The request that the switch received. */
  readonly sale: ReceivedRequest;
}

/** Taps at a switch that answers no sale in time. */
export async function tapInVain(installation: Installation, scripted: ScriptedSwitch): Promise<TapInVain> {
  const answer = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  expect(answer.type).toBe('Indeterminate');
  const { id, rrn } = await storedTransaction(installation.database, answer.serviceReference);
  return { id, sale: scripted.of('0200').find(({ message }) => message.rrn === rrn)! };
}
