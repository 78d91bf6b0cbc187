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
