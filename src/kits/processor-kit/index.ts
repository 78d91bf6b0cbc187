/**
 * `#processor-kit`: everything that a processor needs and may use. A plug-in imports this and `#schemas/*`, nothing
 * else. `processor.ts` states the contract.
 */

export { z } from 'zod';
export { isDigits, readBcd, writeBcd } from '../../codecs/bytes/digits.ts';
export { fromHex, toHex } from '../../codecs/bytes/hex.ts';
export type { MacFunction, MacMethod } from '../../codecs/crypto/mac.ts';
export { MAC_ALGORITHMS, type MacAlgorithmName } from '../../codecs/crypto/mac.ts';
export { buildDe55, issuerTags } from '../../codecs/emv/de55.ts';
export { schemeOfAid, schemeOfPan } from '../../codecs/emv/scheme.ts';
export { encodeTlv, indexTlv, type TlvIndex } from '../../codecs/emv/tlv.ts';
export { compileSpec } from '../../codecs/iso8583/codec.ts';
export * from '../../codecs/iso8583/fields.ts';
export { SPACES_LEFT, SPACES_RIGHT, ZEROS_LEFT } from '../../codecs/iso8583/rows.ts';
export { defineSpec, type MessageOf, type Spec } from '../../codecs/iso8583/spec.ts';
export { simulatedCardTags, simulatedIccData } from './card-tags.ts';
export {
  ACTION_CODES_1993,
  actionCode1993,
  authenticationAsksForPin,
  classifyOutcome,
  classifyReversalResponse,
  declineCodes,
  type OutcomeContext,
  PIN_REQUIRED_CODES,
  pinRequestCode,
  REVERSAL_CODES,
  REVERSAL_CODES_1993,
  singleTapData,
  singleTapFlag,
  UNCERTAIN_CODES,
} from './classify-outcome.ts';
export { defineProcessor, PROCESSOR_KIT } from './define-processor.ts';
export {
  acceptorAddress,
  acceptorNameLocation,
  amountDigits,
  debitedAccount,
  isRefundCode,
  localDateTime,
  otherStan,
  panOfTrack,
  retrievalReference,
  transmissionDateTime,
} from './field-values.ts';
export type { IsoMessage, Mutable } from './iso-fields.ts';
export {
  isResponse,
  isResponseTo,
  keepFields,
  messageClass,
  PRIMARY_FIELDS_1987,
  PRIMARY_FIELDS_1993,
  responseMti,
  SECONDARY_FIELDS_1987,
  SECONDARY_FIELDS_1993,
} from './iso-fields.ts';
export { keyExchangeFaults } from './key-change.ts';
export { type MacVerdict, macVerdictOf } from './mac-layout.ts';
export type { MacField, MacKeySet, MacKeys, MacRule, MacValue, NumberedMacKey, WireValues } from './mac-rule.ts';
export { MacPlace } from './mac-rule.ts';
export { configuredMacKeys, macMethodOf, messageCodec } from './message-codec.ts';
export type * from './processor.ts';
export { meaningOf, networkKindOf, REVERSAL_SCHEDULE } from './profile.ts';
export { samplePurchase } from './purchase.ts';
export {
  brokenRules,
  isMoment,
  moment,
  notZero,
  panOrTrack,
  presence,
  type RequestRule,
  ruleTable,
} from './request-rules.ts';
export { institutionId, keyExchangeConfig, switchConfig } from './switch-config.ts';
export {
  framingOf,
  type ProcessorProtocol,
  profileOf,
  type SwitchProtocolOptions,
  switchProtocol,
} from './switch-protocol.ts';
