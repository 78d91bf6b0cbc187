import { FieldFault, type FieldReader } from '../../../hsm-devices/payshield/host-command.ts';
import { readKeyField } from '../../../hsm-devices/payshield/key-field.ts';

/** The simulated device refuses a command with this error code. */
export class Refusal extends Error {
  readonly errorCode: string;

  constructor(errorCode: string) {
    super(`error code ${errorCode}`);
    this.errorCode = errorCode;
  }
}

/** Two characters for the field that is invalid, as the commands document them. */
export function refuseIf(isInvalid: boolean, errorCode: string): void {
  if (isInvalid) throw new Refusal(errorCode);
}

/** The fields of a command, with the end that all commands share. */
export class CommandFields {
  readonly fields: FieldReader;

  constructor(fields: FieldReader) {
    this.fields = fields;
  }

  key(): string {
    return readKeyField(this.fields);
  }

  /** Skips a delimiter. @returns whether it was there */
  hasDelimiter(delimiter: string): boolean {
    if (this.fields.peek(1) !== delimiter) return false;
    this.fields.text(1);
    return true;
  }

  /** Delimiter `%` and LMK Identifier, if they are there. The simulated device has one LMK. */
  lmkIdentifier(): void {
    if (this.hasDelimiter('%') && this.fields.digits(2) !== '00') throw new Refusal('13');
  }

  /** The last fields of most commands. */
  end(): void {
    this.lmkIdentifier();
    this.fields.end();
  }
}

/** @returns the error code for what a command threw; 15 is Invalid input data */
export function errorCodeOf(error: unknown): string {
  if (error instanceof Refusal) return error.errorCode;
  if (error instanceof FieldFault) return '15';
  throw error;
}
