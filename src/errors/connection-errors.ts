import { TapwireError } from './tapwire-error.ts';

/** Why a connection to a switch refused a message or gave up reading. */
export type ConnectionErrorCode = keyof typeof CONNECTION_ERRORS;

const CONNECTION_ERRORS = {
  FRAMING_INVALID: 'no frame satisfies the framing',
  FRAME_EMPTY: 'the switch sent a frame of length zero',
  FRAME_TOO_SHORT: 'the switch sent a frame shorter than its header',
  FRAME_TOO_LONG: 'the switch announced a frame longer than the limit',
  MESSAGE_LENGTH: 'the encoded message is empty or longer than the longest frame',
  DUPLICATE_KEY: 'a request with the same match key is waiting for its answer',
  SLOT_SPENT: 'the slot was used or released before',
  EXCHANGE_FAILED: 'the switch did not answer',
} as const;

export class ConnectionError extends TapwireError<ConnectionErrorCode> {
  constructor(code: ConnectionErrorCode, detail?: string) {
    super(code, `${CONNECTION_ERRORS[code]}${detail === undefined ? '' : ` (${detail})`}`);
  }
}

/** Why a URL that somebody gave us was not called, or gave no answer. The codes stand in what its owner is shown. */
export type OutboundErrorCode = keyof typeof OUTBOUND_ERRORS;

const OUTBOUND_ERRORS = {
  URL_REFUSED: 'the URL is none that may be called',
  ADDRESS_REFUSED: 'the name leads to an address that is not public',
  NAME_NOT_FOUND: 'the name has no address',
  NAME_LOOKUP_FAILED: 'the address of the name could not be found out',
  CONNECTION_REFUSED: 'nobody listens there',
  CONNECTION_LOST: 'the connection ended before an answer',
  UNREACHABLE: 'the address cannot be reached',
  TLS_FAILED: 'the connection could not be secured, or its certificate is not valid',
  ANSWER_BROKEN: 'the answer is not HTTP',
  TIMEOUT: 'no answer in time',
  CANCELLED: 'we stopped before there was an answer',
} as const;

export class OutboundError extends TapwireError<OutboundErrorCode> {
  constructor(code: OutboundErrorCode, options?: ErrorOptions) {
    super(code, OUTBOUND_ERRORS[code], options);
  }
}
