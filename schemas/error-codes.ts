import { ERROR_CODE_NAMES } from './problem.ts';

/**
 * Meaning of an errorCode. Codes of the server are in problems and outcomes, and the intent's result extras have all
 * codes.
 */
export interface ErrorCodeText {
  readonly code: number;
  readonly name: string;
  readonly meaning: string;
}

/** Codes of devices and of outcomes (interface 7.4). */
const OTHER_CODES: readonly ErrorCodeText[] = [
  { code: 0, name: 'OK', meaning: 'The operation succeeded' },
  { code: 1, name: 'Declined', meaning: 'The transaction was declined' },
  { code: 2, name: 'DeclinedOffline', meaning: 'The card declined without asking the issuer' },
  { code: 65, name: 'PinRequired', meaning: 'The issuer requires a PIN; isSingleTapAndPin is true' },
  { code: 300, name: 'NFCDisabled', meaning: 'NFC is switched off on the device' },
  { code: 301, name: 'InvalidSystemState', meaning: 'The device is not in a state that allows payments' },
  { code: 302, name: 'InvalidCurrency', meaning: 'The currency is not supported' },
  { code: 303, name: 'InvalidAndroidVersion', meaning: 'The mobile operating system is too old' },
  { code: 304, name: 'ErrorParsingJWT', meaning: 'The token could not be read' },
  { code: 305, name: 'NetworkError', meaning: 'The device has no working connection' },
  { code: 311, name: 'GooglePlayUnavailable', meaning: 'The app store services are unavailable' },
  { code: 317, name: 'CancelledTransaction', meaning: 'The transaction was cancelled on the device' },
  { code: 318, name: 'CardTapTimeoutExpired', meaning: 'No card was presented in time' },
  { code: 319, name: 'TransactionError', meaning: 'The transaction failed on the device' },
  { code: 399, name: 'SystemNotInitialised', meaning: 'The SDK was not initialised' },
  { code: 401, name: 'CameraPermissionNotGranted', meaning: 'The app has no permission to use the camera' },
  {
    code: 402,
    name: 'AccessibilityServiceBlocksPin',
    meaning: 'An accessibility service or screen overlay could observe the PIN',
  },
  { code: 403, name: 'DeveloperOptionsBlockPin', meaning: 'Developer options are enabled, so PIN entry is blocked' },
  { code: 410, name: 'InvalidTransactionReference', meaning: 'Unknown transaction reference' },
];

const SERVER_MEANINGS: Readonly<Record<keyof typeof ERROR_CODE_NAMES, string>> = {
  100: 'The credential is missing or not accepted for this operation',
  101: 'The credential does not permit this operation',
  102: 'The API key is unknown, expired or revoked',
  103: 'The request body is not valid JSON',
  104: 'The request does not match its schema or the current state of the resource',
  105: 'The user is blocked',
  106: 'The acquirer requires an attestation of the device; get one and repeat the request with it',
  107: 'The attestation is not valid for this device',
  108: 'The attestation is too old; get a new one and repeat the request',
  109: 'The attestation service does not trust the device',
  110: 'The version of the app is too low; update it',
  117: 'The token is not valid',
  118: 'The token has expired',
  119: 'The id or name is already in use',
  122: 'Resource not found',
  123: 'The transaction belongs to another merchant',
  124: 'The merchantReference is already used by another transaction',
  132: 'Too many login attempts; retry after the time in Retry-After',
  134: 'The request conflicts with stored data',
  136: 'No device is registered with this id',
  139: 'The device is blocked',
  201: 'The database failed or did not confirm the change',
  202: 'The card data cannot be decrypted or used',
  203: 'Unexpected error in the gateway or at the processor',
  208: 'No processor is configured for the transaction',
  209: 'The processor declined',
  210: 'No processor could be reached; nothing was sent',
  211: 'The PIN is wrong or cannot be processed',
  212: 'The sale is already settled and can no longer be voided',
  213: 'The sale is voided, or its refundable balance is too small',
};

/** Every named code, in ascending order. */
export const ERROR_CODES: readonly ErrorCodeText[] = [
  ...OTHER_CODES,
  ...Object.entries(ERROR_CODE_NAMES).map(([code, name]) => ({
    code: Number(code),
    name,
    meaning: SERVER_MEANINGS[Number(code) as keyof typeof ERROR_CODE_NAMES],
  })),
].sort((one, other) => one.code - other.code);

/** Subject of a code without a name. A named code takes precedence over the range that contains it. */
export const ERROR_CODE_RANGES = [
  { from: 3, to: 100, name: 'DeviceSecurityError', meaning: 'Device security' },
  { from: 106, to: 116, name: 'DeviceSecurityError', meaning: 'Device security' },
  { from: 119, to: 123, name: 'MerchantError', meaning: 'Merchant or merchant settings' },
  { from: 125, to: 299, name: 'ServerError', meaning: 'Server' },
  { from: 306, to: 310, name: 'ServerSecurityError', meaning: 'Server security' },
  { from: 312, to: 316, name: 'DeviceSecurityError', meaning: 'Device security' },
  { from: 320, to: 323, name: 'DeviceSecurityError', meaning: 'Device security' },
  { from: 404, to: 405, name: 'ServerAndDeviceError', meaning: 'Server or device' },
] as const;

/** Codes from here on are not defined by this interface. */
export const FIRST_FOREIGN_CODE = 500;

/** @returns the meaning of a code; undefined if it has none */
export function errorCodeText(code: number): ErrorCodeText | undefined {
  const named = ERROR_CODES.find((each) => each.code === code);
  if (named) return named;
  const range = ERROR_CODE_RANGES.find(({ from, to }) => from <= code && code <= to);
  return range && { code, name: range.name, meaning: range.meaning };
}
