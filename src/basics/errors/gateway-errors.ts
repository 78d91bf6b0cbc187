import { TapwireError, UserFixableError } from './tapwire-error.ts';

/**
 * Why the gateway, or any command, cannot start. The user sees it in one line, before exit code 1. BAD_USAGE: the
 * arguments are not valid; the user sees the usage instead, before exit code 2.
 */
export type StartErrorCode =
  | 'NO_DATABASE'
  | 'DATABASE_TOO_OLD'
  | 'SCHEMA_TOO_NEW'
  | 'BAD_CONFIG'
  | 'BAD_USAGE'
  | 'ALREADY_RUNNING'
  | 'BAD_PROCESSOR'
  | 'PORT_IN_USE'
  | 'PROCESS_FAILED';

export class StartError extends UserFixableError<StartErrorCode> {}

/** Why a month of transactions cannot be archived, or an archive cannot be restored. */
export type ArchiveErrorCode =
  | 'MONTH_NOT_FOUND'
  | 'MONTH_NOT_ENDED'
  | 'MONTH_PRESENT'
  | 'ARCHIVE_DAMAGED'
  | 'DATABASE_BUSY';

export class ArchiveError extends UserFixableError<ArchiveErrorCode> {}

/** Why a plug-in, a processor or a reader format, cannot be used. */
export type PlugInErrorCode = 'PLUG_IN_NOT_FOUND' | 'PLUG_IN_BROKEN' | 'PLUG_IN_INVALID' | 'PLUG_IN_DUPLICATE';

/** A plug-in that is missing, cannot be loaded or is not a plug-in: the message names the file and the reason. */
export class PlugInError extends UserFixableError<PlugInErrorCode> {}

/** Why a simulated switch cannot be started as asked. */
export type SimulatorErrorCode =
  | 'LATENCY_INVALID'
  | 'FAULT_INVALID'
  | 'BEHAVIOUR_UNKNOWN'
  | 'PORT_TAKEN'
  | 'RECORDING_INVALID';

export class SimulatorError extends UserFixableError<SimulatorErrorCode> {}

/** Why a connection to a switch refused a message or gave up reading. */
export type ConnectionErrorCode = keyof typeof CONNECTION_ERRORS;

const CONNECTION_ERRORS = {
  FRAMING_INVALID: 'no frame satisfies the framing',
  FRAME_LENGTH_INVALID: 'the length before a frame is not a number',
  FRAME_TOO_SHORT: 'the switch sent a frame shorter than its header',
  FRAME_TOO_LONG: 'the switch announced a frame longer than the limit',
  FRAME_TRAILER_INVALID: 'the switch ended a frame with other bytes than the trailer',
  MESSAGE_LENGTH: 'the encoded message is empty or longer than the longest frame',
  DUPLICATE_KEY: 'another request with the same match key is in flight',
  SLOT_SPENT: 'the slot was used or released before',
  EXCHANGE_FAILED: 'the switch did not respond',
  NOT_SENT: 'the message could not be completed and was not sent',
} as const;

export class ConnectionError extends TapwireError<ConnectionErrorCode> {
  constructor(code: ConnectionErrorCode, detail?: string) {
    super(code, `${CONNECTION_ERRORS[code]}${detail === undefined ? '' : ` (${detail})`}`);
  }
}

/** Why a URL from a user was not called, or the call gave no response. Its owner is shown these codes. */
export type OutboundErrorCode = keyof typeof OUTBOUND_ERRORS;

const OUTBOUND_ERRORS = {
  URL_REFUSED: 'the URL is not allowed',
  ADDRESS_REFUSED: 'the host name resolves to an address that is not public',
  NAME_NOT_FOUND: 'the host name has no address',
  NAME_LOOKUP_FAILED: 'the host name could not be resolved',
  CONNECTION_REFUSED: 'the connection was refused',
  CONNECTION_LOST: 'the connection ended before a response',
  UNREACHABLE: 'the address cannot be reached',
  TLS_FAILED: 'the TLS handshake failed, or the certificate is not valid',
  RESPONSE_BROKEN: 'the response is not HTTP',
  TIMEOUT: 'no response in time',
  CANCELLED: 'the gateway stopped before a response',
} as const;

export class OutboundError extends TapwireError<OutboundErrorCode> {
  constructor(code: OutboundErrorCode, options?: ErrorOptions) {
    super(code, OUTBOUND_ERRORS[code], options);
  }
}

/** Why a device of an HSM did not carry out a command. */
export type HsmDeviceErrorCode = keyof typeof HSM_DEVICE_ERRORS;

const HSM_DEVICE_ERRORS = {
  UNREACHABLE: 'no connection to the device',
  CONNECTION_LOST: 'the connection ended before the response',
  TIMEOUT: 'the device did not respond in time',
  BUSY: 'too many commands wait for the device',
  FRAME_INVALID: 'the device sent a frame of an impossible length, or one that belongs to no command',
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

/** Why working keys were not exchanged with a switch. The previous keys remain in use. */
export type KeyExchangeErrorCode = keyof typeof KEY_EXCHANGE_ERRORS;

const KEY_EXCHANGE_ERRORS = {
  REFUSED: 'the switch refuses to issue a key',
  NO_RESPONSE: 'the switch does not respond to the request for a key',
  NOT_ANNOUNCED: 'the switch promised a key and did not announce it',
  UNREADABLE: 'the announcement contains no well-formed key',
  NOT_AGREED: 'a key was announced that the configuration does not exchange',
  UNTRUSTED: 'the MAC of the announcement is wrong',
  NUMBER_TAKEN: 'the announced key has the number of another live key',
  REPLAYED: 'the switch has announced this key before, and it has been replaced',
  NOT_IMPORTED: 'the HSM does not accept the announced key',
  NOT_KEPT: 'the announced key could not be stored',
  NO_KEY: 'the switch may have none of the keys',
  TOO_MANY: 'more keys are announced than can be processed',
} as const;

export class KeyExchangeError extends TapwireError<KeyExchangeErrorCode> {
  constructor(code: KeyExchangeErrorCode, options?: ErrorOptions & { readonly detail?: string }) {
    const { detail, ...rest } = options ?? {};
    super(code, `${KEY_EXCHANGE_ERRORS[code]}${detail === undefined ? '' : ` (${detail})`}`, rest);
  }
}

/** Why a load test cannot run as requested, or its files cannot be read. */
export type LoadErrorCode = 'BAD_OPTION' | 'BAD_FILE' | 'REFUSED' | 'UNREACHABLE' | 'WORKER_BROKEN';

export class LoadError extends UserFixableError<LoadErrorCode> {}
