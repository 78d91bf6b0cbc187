import { TapwireError } from './tapwire-error.ts';

/** Why a device of an HSM did not carry out a command. */
export type HsmDeviceErrorCode = keyof typeof HSM_DEVICE_ERRORS;

const HSM_DEVICE_ERRORS = {
  UNREACHABLE: 'no connection to the device',
  CONNECTION_LOST: 'the connection ended before the response',
  TIMEOUT: 'the device did not respond in time',
  BUSY: 'too many commands wait for the device',
  FRAME_INVALID: 'the device sent a frame of an impossible length, or one that answers no command',
  RESPONSE_INVALID: 'the response does not have the fields of the manual',
  REFUSED: 'the device responded with an error code',
  WRONG_LMK: 'the device has another local master key than the configuration names',
  CLOSED: 'the gateway is stopping',
} as const;

/**
 * One device failed one command. Another device may succeed. The text names the device, the command and the error code
 * of the manual, never a field of the command.
 */
export class HsmDeviceError extends TapwireError<HsmDeviceErrorCode> {
  override readonly retryable = true;
  /** The error code of a refusal: two characters, as the manual lists them. */
  readonly errorCode: string | undefined;

  constructor(code: HsmDeviceErrorCode, where: string, errorCode?: string, options?: ErrorOptions) {
    super(code, `${HSM_DEVICE_ERRORS[code]} (${where})`, options);
    this.errorCode = errorCode;
  }
}

/**
 * A PKCS #11 token refused or failed. The code is the name of its return value (`CKR_KEY_FUNCTION_NOT_PERMITTED`), or
 * KEY_MISSING, TIMEOUT, BUSY, CIRCUIT_OPEN, THREAD_ENDED.
 */
export class TokenError extends TapwireError {}

/**
 * AWS Payment Cryptography refused a request. The code is the name of the error in its API model
 * (`ResourceNotFoundException`), or InvalidResponse, TIMEOUT, UNREACHABLE, BUSY.
 */
export class AwsError extends TapwireError {}
