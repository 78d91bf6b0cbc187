import { FieldReader } from '../../../hsm-devices/payshield/field-reader.ts';
import { responseCodeOf } from '../../../hsm-devices/payshield/host-command.ts';
import { CommandFields, errorCodeOf } from './command-fields.ts';
import { exportKey, importKey, type KeyAnswer, keyCheckValue, translateZpk } from './key-commands.ts';
import { generateMac, verifyMac } from './mac-commands.ts';
import { translateDukptPin, translateZonePin } from './pin-commands.ts';
import { refuseIf } from './refusal.ts';
import type { TestLmk } from './test-lmk.ts';

/** The check value of the published test LMK is not computed here; this value identifies the simulated device. */
const SIMULATED_LMK_CHECK_VALUE = '5A1057ED00000000';
const FIRMWARE = '0000-SIM0';
/** 32 KB, TCP, 64 sockets, and two reserved fields. */
const STATUS_00 = `3164${FIRMWARE}00000`;
const UNKNOWN_COMMAND = '68';

type Answer = string | KeyAnswer;

const COMMANDS: Readonly<Record<string, (command: CommandFields, lmk: TestLmk) => Answer>> = {
  CA: (command, lmk) => translateZonePin(command, lmk, 'TPK'),
  CC: (command, lmk) => translateZonePin(command, lmk, 'ZPK'),
  G0: translateDukptPin,
  M6: generateMac,
  M8: verifyMac,
  A6: importKey,
  A8: exportKey,
  BU: keyCheckValue,
  FA: translateZpk,
  NC({ fields }) {
    fields.end();
    return SIMULATED_LMK_CHECK_VALUE + FIRMWARE;
  },
  NO({ fields }) {
    refuseIf(fields.text(2) !== '00', '15');
    fields.end();
    return STATUS_00;
  },
  B2({ fields }) {
    const data = fields.text(Number.parseInt(fields.hex(4), 16));
    fields.end();
    return data;
  },
};

/**
 * Carries out one command.
 *
 * @param message Command Code and fields, without the header
 * @returns Response Code, Error Code and fields
 */
export function answerCommand(message: Uint8Array, lmk: TestLmk): string {
  const fields = new FieldReader(message);
  const code = fields.peek(2);
  const responseCode = code.length === 2 ? responseCodeOf(code) : 'ZZ';
  const command = Object.hasOwn(COMMANDS, code) ? COMMANDS[code] : undefined;
  if (command === undefined) return responseCode + UNKNOWN_COMMAND;
  try {
    fields.text(2);
    const answer = command(new CommandFields(fields), lmk);
    return typeof answer === 'string' ? `${responseCode}00${answer}` : responseCode + answer.errorCode + answer.fields;
  } catch (error) {
    return responseCode + errorCodeOf(error);
  }
}
