import { ERROR_CODE_NAMES } from './problem.ts';

/** What an errorCode says. Those of the server stand in problems and outcomes, all of them in the intent's result extras. */
export interface ErrorCodeText {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
}

/** Of devices and of outcomes (interface 7.4). */
const OTHER_CODES: readonly ErrorCodeText[] = [
  { code: 0, name: 'OK', meaning: 'It went well' },
  { code: 1, name: 'Declined', meaning: 'The transaction was declined' },
  { code: 2, name: 'DeclinedOffline', meaning: 'The card itself declined' },
  { code: 65, name: 'PinRequired', meaning: 'The issuer wants a PIN; told with isSingleTapAndPin' },
  { code: 300, name: 'NFCDisabled', meaning: 'NFC is switched off on the device' },
  { code: 301, name: 'InvalidSystemState', meaning: 'The device is in no state to take a payment' },
  { code: 302, name: 'InvalidCurrency', meaning: 'The currency is not supported' },
  { code: 303, name: 'InvalidAndroidVersion', meaning: 'The mobile operating system is too old' },
  { code: 304, name: 'ErrorParsingJWT', meaning: 'The token could not be read' },
  { code: 305, name: 'NetworkError', meaning: 'The device has no working connection' },
  { code: 311, name: 'GooglePlayUnavailable', meaning: 'The services of the app store are not available' },
  { code: 317, name: 'CancelledTransaction', meaning: 'The transaction was cancelled on the device' },
  { code: 318, name: 'CardTapTimeoutExpired', meaning: 'No card was presented in time' },
  { code: 319, name: 'TransactionError', meaning: 'The transaction failed on the device' },
  { code: 399, name: 'SystemNotInitialised', meaning: 'The SDK was not initialised' },
  { code: 401, name: 'CameraPermissionNotGranted', meaning: 'The camera may not be used' },
  {
    code: 402,
    name: 'AccessibilityServiceBlocksPin',
    meaning: 'Something, for example a screen overlay, could watch the PIN',
  },
  { code: 403, name: 'DeveloperOptionsBlockPin', meaning: 'Developer options are on: no PIN is taken' },
  { code: 410, name: 'InvalidTransactionReference', meaning: 'There is no such transaction' },
];

const SERVER_MEANINGS: Readonly<Record<keyof typeof ERROR_CODE_NAMES, string>> = {
  100: 'No credential, or one that is not accepted here',
  101: 'The credential does not permit this',
  102: 'The API key is unknown, expired or revoked',
  103: 'The body is not JSON',
  104: 'The request is invalid, or not possible in the present state',
  105: 'The user is blocked',
  117: 'The token is not valid',
  118: 'The token has expired',
  119: 'There is one with this id or name already',
  122: 'Resource not found',
  123: "The transaction is another merchant's",
  124: 'The merchantReference was used for something else',
  132: 'Too many attempts; try again after Retry-After',
  134: 'What was sent does not fit what is stored',
  136: 'No device is registered under this id',
  139: 'The device is blocked',
  201: 'The database did not take it, or did not say so',
  202: 'The card data cannot be opened or used',
  203: 'Something went wrong on our side, or at the processor',
  208: 'No processor is configured for this',
  209: 'The processor declined',
  210: 'No processor could be reached; nothing was sent',
  211: 'The PIN was wrong, or cannot be used',
  212: 'It was settled: too late to void',
  213: 'The sale is voided, or its refundable balance is too small',
};

/** Every code with a name, in ascending order. */
export const ERROR_CODES: readonly ErrorCodeText[] = [
  ...OTHER_CODES,
  ...Object.entries(ERROR_CODE_NAMES).map(([code, name]) => ({
    code: Number(code),
    name,
    meaning: SERVER_MEANINGS[Number(code) as keyof typeof ERROR_CODE_NAMES],
  })),
].sort((one, other) => one.code - other.code);

/** What a code without a name is about. A code with one wins over the range that spans it. */
export const ERROR_CODE_RANGES = [
  { from: 3, to: 100, name: 'DeviceSecurityError', meaning: 'The security of the device' },
  { from: 106, to: 116, name: 'DeviceSecurityError', meaning: 'The security of the device' },
  { from: 119, to: 123, name: 'MerchantError', meaning: 'The merchant or its settings' },
  { from: 125, to: 299, name: 'ServerError', meaning: 'The server' },
  { from: 306, to: 310, name: 'ServerSecurityError', meaning: 'The security of the server' },
  { from: 312, to: 316, name: 'DeviceSecurityError', meaning: 'The security of the device' },
  { from: 320, to: 323, name: 'DeviceSecurityError', meaning: 'The security of the device' },
  { from: 404, to: 405, name: 'ServerAndDeviceError', meaning: 'The server or the device' },
] as const;

/** From here on codes are nobody's we know. */
export const FIRST_FOREIGN_CODE = 500;

/** What a code says; undefined for one that means nothing. */
export function errorCodeText(code: number): ErrorCodeText | undefined {
  const named = ERROR_CODES.find((each) => each.code === code);
  if (named) return named;
  const range = ERROR_CODE_RANGES.find(({ from, to }) => from <= code && code <= to);
  return range && { code, name: range.name, meaning: range.meaning };
}
