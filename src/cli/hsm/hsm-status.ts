import { parseArgs } from 'node:util';
import { readConfig } from '../../start/config.ts';
import type { HsmDeviceState } from '../../switching/hsm/device-state.ts';
import { hsmFindings } from '../../tools/doctor/hsm-findings.ts';
import { type Columns, printList } from '../table.ts';
import { flag } from '../words.ts';
import { withHsm } from './opened-hsm.ts';

/** `tapwire hsm status [--json]`. */
export async function status(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { json: flag } });
  return withHsm(readConfig(process.env), async (hsm) => {
    const states = hsm?.deviceStates?.();
    if (states === undefined) {
      console.log(hsm ? 'The HSM has no devices on the network.' : 'No HSM is configured.');
      return 0;
    }
    printList(states, DEVICES, values.json);
    const faults = hsmFindings(states).filter(({ verdict }) => verdict !== 'good');
    if (!values.json)
      for (const { part, description, advice } of faults) console.log(`${part}: ${description}\n  -> ${advice}`);
    return states.every((state) => state.status === 'ready') ? 0 : 1;
  });
}

const DEVICES: Columns<HsmDeviceState> = {
  titles: ['DEVICE', 'ADDRESS', 'STATUS', 'CONNECTIONS', 'FIRMWARE', 'LMK'],
  cellsOf: ({ name, address, status: state, connectionsReady, connections, firmware, lmkCheckValue }) => [
    ...[name, address, state, `${connectionsReady} of ${connections}`],
    ...[firmware ?? 'unknown', lmkCheckValue ?? 'unknown'],
  ],
};
