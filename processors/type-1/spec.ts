import {
  alphanumeric,
  binary,
  bitmapped,
  compileSpec,
  defineSpec,
  type MessageCodec,
  type MessageOf,
  type Mutable,
  numeric,
  PRIMARY_FIELDS_1987,
  SECONDARY_FIELDS_1987,
  SPACES_RIGHT,
  text,
  track2,
} from '#processor-kit';

/** Shorter values are padded; the spaces are not part of the value. */
const PADDED = { ...SPACES_RIGHT, strip: true };

/** EMV data elements of 127.25 in its bitmap form. Binary elements are hex digits. */
const iccElements = {
  2: numeric({ name: 'amountAuthorized', digits: 12, safe: true, emvTag: 0x9f02 }),
  3: numeric({ name: 'amountOther', digits: 12, safe: true, emvTag: 0x9f03 }),
  4: text({ name: 'applicationIdentifier', characters: 32, prefix: 'LL', safe: true, emvTag: 0x84 }),
  5: text({ name: 'applicationInterchangeProfile', characters: 4, safe: true, emvTag: 0x82 }),
  6: text({ name: 'applicationTransactionCounter', characters: 4, safe: true, emvTag: 0x9f36 }),
  7: text({ name: 'applicationUsageControl', characters: 4, safe: true, emvTag: 0x9f07 }),
  8: alphanumeric({ name: 'authorizationResponseCode', characters: 2, safe: true, emvTag: 0x8a }),
  9: numeric({ name: 'cardAuthenticationReliability', digits: 1, safe: true }),
  10: text({ name: 'cardAuthenticationResult', characters: 1, safe: true }),
  11: numeric({ name: 'chipConditionCode', digits: 1, safe: true }),
  12: text({ name: 'cryptogram', characters: 16, safe: true, emvTag: 0x9f26 }),
  13: text({ name: 'cryptogramInformationData', characters: 2, safe: true, emvTag: 0x9f27 }),
  14: text({ name: 'cvmList', characters: 504, prefix: 'LLL', safe: true, emvTag: 0x8e }),
  15: text({ name: 'cvmResults', characters: 6, safe: true, emvTag: 0x9f34 }),
  16: alphanumeric({ name: 'interfaceDeviceSerial', characters: 8, pad: PADDED, safe: true, emvTag: 0x9f1e }),
  17: text({ name: 'issuerActionCode', characters: 11 }),
  18: text({ name: 'issuerApplicationData', characters: 64, prefix: 'LL', safe: true, emvTag: 0x9f10 }),
  19: text({ name: 'issuerScriptResults', characters: 507, prefix: 'LLL', emvTag: 0x9f5b }),
  20: text({ name: 'terminalApplicationVersion', characters: 4, safe: true, emvTag: 0x9f09 }),
  21: text({ name: 'terminalCapabilities', characters: 6, safe: true, emvTag: 0x9f33 }),
  22: numeric({ name: 'terminalCountryCode', digits: 3, safe: true, emvTag: 0x9f1a }),
  23: numeric({ name: 'terminalType', digits: 2, safe: true, emvTag: 0x9f35 }),
  24: text({ name: 'terminalVerificationResults', characters: 10, safe: true, emvTag: 0x95 }),
  25: text({ name: 'transactionCategoryCode', characters: 1, safe: true, emvTag: 0x9f53 }),
  26: numeric({ name: 'transactionCurrencyCode', digits: 3, safe: true, emvTag: 0x5f2a }),
  27: numeric({ name: 'transactionDate', digits: 6, safe: true, emvTag: 0x9a }),
  28: numeric({ name: 'transactionSequenceCounter', digits: 8, prefix: 'L', safe: true, emvTag: 0x9f41 }),
  29: numeric({ name: 'transactionType', digits: 2, safe: true, emvTag: 0x9c }),
  30: text({ name: 'unpredictableNumber', characters: 8, safe: true, emvTag: 0x9f37 }),
  31: text({ name: 'issuerAuthenticationData', characters: 32, prefix: 'LL', safe: true, emvTag: 0x91 }),
  32: text({ name: 'issuerScriptTemplate1', characters: 3354, prefix: 'LLLL', emvTag: 0x71 }),
  33: text({ name: 'issuerScriptTemplate2', characters: 3354, prefix: 'LLLL', emvTag: 0x72 }),
} as const;

/**
 * DE127: the additions of the switch to ISO 8583:1987. It is a nested message: binary bitmap of 64 bits, then its
 * fields.
 */
const switchFields = {
  2: text({ name: 'switchKey', characters: 32, prefix: 'LL', safe: true }),
  3: text({ name: 'routingInformation', characters: 48 }),
  4: text({ name: 'posData', characters: 22 }),
  5: text({ name: 'serviceStationData', characters: 73 }),
  6: numeric({ name: 'authorizationProfile', digits: 2, safe: true }),
  7: text({ name: 'checkData', characters: 50, prefix: 'LL' }),
  8: text({ name: 'retentionData', characters: 999, prefix: 'LLL' }),
  9: text({ name: 'additionalNodeData', characters: 255, prefix: 'LLL' }),
  10: numeric({ name: 'cardVerificationValue2', digits: 3 }),
  11: text({ name: 'originalKey', characters: 32, prefix: 'LL', safe: true }),
  12: text({ name: 'terminalOwner', characters: 25, prefix: 'LL', safe: true }),
  13: text({ name: 'posGeographicData', characters: 17 }),
  14: text({ name: 'sponsorBank', characters: 8, safe: true }),
  15: text({ name: 'addressVerificationData', characters: 29, prefix: 'LL' }),
  16: text({ name: 'addressVerificationResult', characters: 1 }),
  17: text({ name: 'cardholderInformation', characters: 50, prefix: 'LL' }),
  18: text({ name: 'validationData', characters: 50, prefix: 'LL' }),
  19: text({ name: 'bankDetails', characters: 31 }),
  20: numeric({ name: 'settlementBusinessDate', digits: 8, safe: true }),
  21: text({ name: 'recordIdentification', characters: 12, prefix: 'LL' }),
  22: text({ name: 'structuredData', characters: 99_999, prefix: 'LLLLL' }),
  23: text({ name: 'payeeNameAndAddress', characters: 253 }),
  24: text({ name: 'payerAccount', characters: 28, prefix: 'LL' }),
  26: text({ name: 'originalNode', characters: 12, prefix: 'LL', safe: true }),
  27: text({ name: 'cardVerificationResult', characters: 1 }),
  28: numeric({ name: 'amexCardIdentifier', digits: 4 }),
  29: binary({ name: 'secureData3d', bytes: 20 }),
  30: text({ name: 'secureResult3d', characters: 1 }),
  31: text({ name: 'issuerNetworkId', characters: 11, prefix: 'LL', safe: true }),
  32: binary({ name: 'ucafData', bytes: 33, prefix: 'LL' }),
  33: numeric({ name: 'extendedTransactionType', digits: 4, safe: true }),
  34: numeric({ name: 'accountTypeQualifiers', digits: 2, safe: true }),
  35: text({ name: 'acquirerNetworkId', characters: 11, prefix: 'LL', safe: true }),
  36: text({ name: 'customerId', characters: 25, prefix: 'LL' }),
  37: alphanumeric({ name: 'extendedResponseCode', characters: 4, safe: true }),
  38: alphanumeric({ name: 'additionalPosDataCode', characters: 99, prefix: 'LL', safe: true }),
  39: alphanumeric({ name: 'originalResponseCode', characters: 2, safe: true }),
} as const;

const MAX_ICC_CHARACTERS = 8_000;

const iccAsBitmap = bitmapped({
  name: 'icc',
  bytes: MAX_ICC_CHARACTERS,
  prefix: 'LLLL',
  bitmap: { bytes: 8, encoding: 'hex' },
  fields: iccElements,
});

const iccAsXml = text({ name: 'iccXml', characters: MAX_ICC_CHARACTERS, prefix: 'LLLL' });

function switchData<const Icc extends typeof iccAsBitmap | typeof iccAsXml>(icc: Icc) {
  return bitmapped({
    name: 'switchData',
    bytes: 999_999,
    prefix: 'LLLLLL',
    bitmap: { bytes: 8 },
    fields: { ...switchFields, 25: icc },
  });
}

/** DE2 to DE126 and DE128 (ISO 8583:1987 4.3), in ASCII, after binary bitmaps: where this switch differs from the standard. */
const fields = {
  ...PRIMARY_FIELDS_1987,
  ...SECONDARY_FIELDS_1987,
  35: track2({ name: 'track2', prefix: 'LL' }),
  40: numeric({ name: 'serviceCode', digits: 3 }),
  53: binary({ name: 'securityControl', bytes: 48 }),
  54: alphanumeric({ name: 'additionalAmounts', characters: 120, prefix: 'LLL' }),
  56: text({ name: 'reasonCode', characters: 4, prefix: 'LLL', safe: true }),
  57: text({ name: 'authorizationLifeCycle', characters: 3, prefix: 'LLL', safe: true }),
  58: numeric({ name: 'authorizingAgentId', digits: 11, prefix: 'LLL', safe: true }),
  59: text({ name: 'echoData', characters: 255, prefix: 'LLL' }),
  118: numeric({ name: 'paymentsCount', digits: 30, prefix: 'LLL', safe: true }),
  119: numeric({ name: 'paymentsReversalCount', digits: 30, prefix: 'LLL', safe: true }),
  123: alphanumeric({ name: 'posDataCode', characters: 15, prefix: 'LLL', safe: true }),
  125: text({ name: 'networkManagementData', characters: 999, prefix: 'LLL' }),
} as const;

const layout = { mti: { encoding: 'ascii' }, bitmap: { encoding: 'binary' } } as const;

export const spec = defineSpec({ name: 'type-1', ...layout, fields: { ...fields, 127: switchData(iccAsBitmap) } });

const xmlSpec = defineSpec({ name: 'type-1 (XML)', ...layout, fields: { ...fields, 127: switchData(iccAsXml) } });

/** Chip data are in `switchData.icc` or in `switchData.iccXml`, depending on the configuration. */
export type Type1Message = Mutable<MessageOf<typeof spec> & MessageOf<typeof xmlSpec>>;

/** The elements of 127.25, keyed by name. */
export type IccElements = Mutable<NonNullable<NonNullable<Type1Message['switchData']>['icc']>>;

const forms = { bitmap: compileSpec(spec), xml: compileSpec(xmlSpec) } as const;

/**
 * The codecs for each form of 127.25. The form is that of the message: a switch responds in the form of the request, so
 * the simulated switch reads both, and a bitmap is read as one, also where the configuration says XML.
 */
export const codecs: Readonly<Record<'bitmap' | 'xml', MessageCodec<Type1Message>>> = {
  bitmap: {
    spec,
    encode,
    decode(bytes, start, end) {
      try {
        return forms.bitmap.decode(bytes, start, end);
      } catch (error) {
        const message = attempt(() => forms.xml.decode(bytes, start, end));
        if (message?.switchData?.iccXml?.startsWith('<') !== true) throw error;
        return message;
      }
    },
  },
  xml: {
    spec: xmlSpec,
    encode,
    decode(bytes, start, end) {
      const message: Type1Message = forms.xml.decode(bytes, start, end);
      const isBitmap = ICC_BITMAP.test(message.switchData?.iccXml ?? '');
      return isBitmap ? forms.bitmap.decode(bytes, start, end) : message;
    },
  },
};

/** How the bitmap form begins; bit 1 is never set. A masked document does not begin so. */
const ICC_BITMAP = /^(?!0{16})[0-7][0-9A-Fa-f]{15}/;

function encode(message: Type1Message, target: Uint8Array, offset: number): number {
  const form = message.switchData?.iccXml === undefined ? forms.bitmap : forms.xml;
  return form.encode(message, target, offset);
}

function attempt(decode: () => Type1Message): Type1Message | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}
