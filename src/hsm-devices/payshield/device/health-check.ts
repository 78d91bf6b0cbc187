import { HsmDeviceError } from '../../../basics/errors.ts';
import { type Diagnostics, deviceStatus, diagnostics, echo } from '../commands/diagnostics.ts';
import { COMMAND_DISABLED } from '../error-codes.ts';
import type { SendCommand } from '../host-command.ts';

const ECHO_DATA = 'TAPWIRE0123456789';

/**
 * Checks a device without keys: NC runs its diagnostics, NO reads its status, B2 echoes. An operator may disable host commands
 * (error 68); NO and B2 are then not checked.
 *
 * @param expectedLmk check value of the local master key, if the configuration names it
 * @throws HsmDeviceError
 */
export async function checkHealth(
  send: SendCommand,
  name: string,
  expectedLmk: string | undefined,
): Promise<Diagnostics> {
  const result = await send(diagnostics());
  if (expectedLmk !== undefined && !result.lmkCheckValue.startsWith(expectedLmk)) {
    throw new HsmDeviceError('WRONG_LMK', `${name}, NC`);
  }
  await unlessDisabled(send(deviceStatus()));
  await unlessDisabled(send(echo(ECHO_DATA)));
  return result;
}

async function unlessDisabled(sent: Promise<unknown>): Promise<void> {
  await sent.catch((error) => {
    if (!(error instanceof HsmDeviceError) || error.errorCode !== COMMAND_DISABLED) throw error;
  });
}
