/**
 * Taps with PINs and MACs, by a software HSM and by two simulated payShield devices that take 1 ms for a command: both
 * installations are up, and take turns. Each tap is three commands: PIN translation, MAC, check of a MAC. The devices
 * share the machine, in the process of the simulated switch.
 */
import { playAll, startSide } from './compare.ts';
import { GATEWAYS } from './e2e.ts';
import type { BenchOptions } from './run.ts';

const ROUNDS = 4;
const SECONDS = 4;

export async function bench({
  rounds = ROUNDS,
  seconds = SECONDS,
  gateways = GATEWAYS,
}: BenchOptions): Promise<unknown> {
  const options = ['--rounds', rounds, '--seconds', seconds, '--gateways', gateways].map(String);
  const sides = ['software', 'simulated'].map((hsm) => startSide(hsm, '.', [...options, '--hsm', hsm]));
  return playAll(sides, { rounds, gateways });
}
