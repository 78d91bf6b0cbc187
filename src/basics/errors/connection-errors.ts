import { TapwireError } from './tapwire-error.ts';

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
  EXCHANGE_FAILED: 'the switch did not answer',
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
  ANSWER_BROKEN: 'the response is not HTTP',
  TIMEOUT: 'no response in time',
  CANCELLED: 'the gateway stopped before a response',
} as const;

export class OutboundError extends TapwireError<OutboundErrorCode> {
  constructor(code: OutboundErrorCode, options?: ErrorOptions) {
    super(code, OUTBOUND_ERRORS[code], options);
  }
}
