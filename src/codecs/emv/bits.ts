/**
 * Tags whose bits have names: terminal verification results, capabilities of reader and card, cardholder
 * verification.
 */
import type { Kernel } from './tags.ts';

/** One statement of a value: its position ("byte 1 bit 8", "byte 2") and its meaning. */
export interface BitRow {
  readonly at: string;
  readonly meaning: string;
}

/** Meanings of one byte from bit 8 down to bit 1, as the standards number them; null is reserved for future use. */
type ByteMeanings = readonly (string | null)[];

const NO_MEANINGS: ByteMeanings = [];
const KERNEL_MEANINGS: ByteMeanings = Array(8).fill("Defined by the card's kernel");

/** EMV Book 3 Annex C5; relay resistance: EMV Contactless Book C-2 Annex A. */
const TVR: readonly ByteMeanings[] = [
  [
    'Offline data authentication was not performed',
    'SDA failed',
    'ICC data missing',
    'Card appears on terminal exception file',
    'DDA failed',
    'CDA failed',
    'SDA selected',
    null,
  ],
  [
    'ICC and terminal have different application versions',
    'Expired application',
    'Application not yet effective',
    'Requested service not allowed for card product',
    'New card',
    null,
    null,
    null,
  ],
  [
    'Cardholder verification was not successful',
    'Unrecognised CVM',
    'PIN try limit exceeded',
    'PIN entry required and PIN pad not present or not working',
    'PIN entry required, PIN pad present, but PIN was not entered',
    'Online PIN entered',
    null,
    null,
  ],
  [
    'Transaction exceeds floor limit',
    'Lower consecutive offline limit exceeded',
    'Upper consecutive offline limit exceeded',
    'Transaction selected randomly for online processing',
    'Merchant forced transaction online',
    null,
    null,
    null,
  ],
  [
    'Default TDOL used',
    'Issuer authentication failed',
    'Script processing failed before final GENERATE AC',
    'Script processing failed after final GENERATE AC',
    'Relay resistance threshold exceeded',
    'Relay resistance time limits exceeded',
    'Relay resistance performed',
    'Relay resistance not performed',
  ],
];

/** EMV Book 3 Annex C1. */
const AIP_FIRST: ByteMeanings = [
  null,
  'SDA supported',
  'DDA supported',
  'Cardholder verification is supported',
  'Terminal risk management is to be performed',
  'Issuer authentication is supported',
  'On-device cardholder verification is supported',
  'CDA supported',
];
/** Byte 2 belongs to the kernels: EMV Contactless Book C-2 Annex A (Mastercard), C-3 Annex A (Visa). */
const AIP_SECOND: Partial<Record<Kernel, ByteMeanings>> = {
  mastercard: ['EMV mode is supported', null, null, null, null, null, null, 'Relay resistance protocol is supported'],
  visa: ['MSD is supported', null, null, null, null, null, null, null],
};

/** EMV Contactless Book C-3 Annex A, tag 9F66. */
const TTQ: readonly ByteMeanings[] = [
  [
    'Magstripe mode supported',
    null,
    'EMV mode supported',
    'EMV contact chip supported',
    'Offline-only reader',
    'Online PIN supported',
    'Signature supported',
    'Offline data authentication for online authorizations supported',
  ],
  ['Online cryptogram required', 'CVM required', 'Contact chip offline PIN supported', null, null, null, null, null],
  ['Issuer update processing supported', 'Consumer device CVM supported', null, null, null, null, null, null],
  ['fDDA version 1.0 supported', null, null, null, null, null, null, null],
];

/** EMV Contactless Book C-3 Annex A, tag 9F6C. */
const CTQ: readonly ByteMeanings[] = [
  [
    'Online PIN required',
    'Signature required',
    'Go online if offline data authentication fails and the reader can',
    'Switch interface if offline data authentication fails and the reader has a contact chip',
    'Go online if the application has expired',
    'Switch interface for cash transactions',
    'Switch interface for cashback transactions',
    'Not valid for contactless ATM transactions',
  ],
  [
    'Consumer device CVM performed',
    'Card supports issuer update processing at the POS',
    null,
    null,
    null,
    null,
    null,
    null,
  ],
];

/** EMV Book 3 Annex C6, tag 9B. */
const TSI: readonly ByteMeanings[] = [
  [
    'Offline data authentication was performed',
    'Cardholder verification was performed',
    'Card risk management was performed',
    'Issuer authentication was performed',
    'Terminal risk management was performed',
    'Script processing was performed',
    null,
    null,
  ],
  NO_MEANINGS,
];

/** EMV Book 4 Annex A2, tag 9F33. */
const TERMINAL_CAPABILITIES: readonly ByteMeanings[] = [
  ['Manual key entry', 'Magnetic stripe', 'Chip with contacts', null, null, null, null, null],
  [
    'Plaintext PIN for verification by the card',
    'Enciphered PIN for online verification',
    'Signature',
    'Enciphered PIN for verification by the card',
    'No CVM required',
    null,
    null,
    null,
  ],
  ['SDA', 'DDA', 'Card capture', null, 'CDA', null, null, null],
];

/** EMV Book 3 6.5.5.4: the two top bits of 9F27, and its three low ones. */
const CRYPTOGRAMS = ['AAC: declined by the card', 'TC: approved offline', 'ARQC: asks the issuer', 'Reserved'];
const CRYPTOGRAM_REASONS = ['', 'Service not allowed', 'PIN try limit exceeded', 'Issuer authentication failed'];

/** EMV Book 3 Annex C3, table of CVM codes (the six low bits of a rule's first byte). */
const CVM_CODES: Readonly<Record<number, string>> = {
  0: 'Fail CVM processing',
  1: 'Plaintext PIN verified by the card',
  2: 'Enciphered PIN verified online',
  3: 'Plaintext PIN verified by the card, and signature',
  4: 'Enciphered PIN verified by the card',
  5: 'Enciphered PIN verified by the card, and signature',
  30: 'Signature',
  31: 'No CVM required',
  63: 'No CVM performed',
};

/** EMV Book 3 Annex C3, table of CVM condition codes. */
const CVM_CONDITIONS: readonly string[] = [
  'Always',
  'If unattended cash',
  'If not unattended cash, not manual cash and not purchase with cashback',
  'If the terminal supports the CVM',
  'If manual cash',
  'If purchase with cashback',
  'If in the application currency and under X',
  'If in the application currency and over X',
  'If in the application currency and under Y',
  'If in the application currency and over Y',
];

/** EMV Book 4 Annex A4, byte 3 of the CVM results. */
const CVM_RESULTS = ['Unknown', 'Failed', 'Successful'];

/**
 * The meaning of the bits of a value, one row for each that is set, reserved ones too; undefined for tags without a
 * table.
 *
 * @param kernel selects the meaning of byte 2 of the AIP, and states whether 9F66 and 9F6C are Visa's
 */
export function describeBits(tag: number, value: Uint8Array, kernel?: Kernel): BitRow[] | undefined {
  switch (tag) {
    case 0x95: // and the action codes, which are masks over it
    case 0x9f0d:
    case 0x9f0e:
    case 0x9f0f:
      return bitRows(TVR, value);
    case 0x82:
      return bitRows([AIP_FIRST, (kernel && AIP_SECOND[kernel]) ?? KERNEL_MEANINGS], value);
    case 0x9b:
      return bitRows(TSI, value);
    case 0x9f33:
      return bitRows(TERMINAL_CAPABILITIES, value);
    case 0x9f66:
      return isVisa(kernel) ? bitRows(TTQ, value) : undefined;
    case 0x9f6c:
      return isVisa(kernel) ? bitRows(CTQ, value) : undefined;
    case 0x9f27:
      return cryptogramRows(value);
    case 0x9f34:
      return cvmRows(value);
    default:
      return undefined;
  }
}

/**
 * 9F66 and 9F6C were defined by Visa first and are read so without a kernel. JCB, UnionPay and others reuse the
 * tags.
 */
function isVisa(kernel: Kernel | undefined): boolean {
  return kernel !== 'mastercard' && kernel !== 'amex';
}

function bitRows(table: readonly ByteMeanings[], value: Uint8Array): BitRow[] {
  const rows: BitRow[] = [];
  for (const [byte, meanings] of table.entries()) {
    const octet = value[byte] ?? 0;
    for (let bit = 8; bit >= 1; bit--) {
      if ((octet & (1 << (bit - 1))) === 0) continue;
      rows.push({ at: `byte ${byte + 1} bit ${bit}`, meaning: meanings[8 - bit] ?? 'Reserved' });
    }
  }
  return rows;
}

function cryptogramRows([information]: Uint8Array): BitRow[] {
  if (information === undefined) return [];
  const rows: BitRow[] = [{ at: 'byte 1 bits 8-7', meaning: CRYPTOGRAMS[information >> 6]! }];
  if (information & 0x08) rows.push({ at: 'byte 1 bit 4', meaning: 'Advice required' });
  const reason = information & 0x07;
  if (reason > 0) rows.push({ at: 'byte 1 bits 3-1', meaning: CRYPTOGRAM_REASONS[reason] ?? 'Reserved' });
  return rows;
}

/** Three bytes that are codes, not bits: method, condition, result. */
function cvmRows([method, condition, result]: Uint8Array): BitRow[] {
  const rows: BitRow[] = [];
  if (method !== undefined) {
    const next = method & 0x40 ? '; if unsuccessful, apply the next rule' : '';
    rows.push({ at: 'byte 1', meaning: `${CVM_CODES[method & 0x3f] ?? 'Reserved'}${next}` });
  }
  if (condition !== undefined) rows.push({ at: 'byte 2', meaning: CVM_CONDITIONS[condition] ?? 'Reserved' });
  if (result !== undefined) rows.push({ at: 'byte 3', meaning: CVM_RESULTS[result] ?? 'Reserved' });
  return rows;
}
