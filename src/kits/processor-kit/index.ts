/**
 * `#processor-kit`: everything that a processor needs and may use. A plug-in imports this and `#schemas/*`, nothing
 * else. `processor.ts` states the contract.
 */

export { z } from 'zod';
export { isDigits, readBcd, writeBcd } from '../../codecs/bytes/digits.ts';
export { fromHex, toHex } from '../../codecs/bytes/hex.ts';
export type { MacFunction, MacMethod } from '../../codecs/crypto/mac.ts';
export { MAC_ALGORITHMS, type MacAlgorithmName } from '../../codecs/crypto/mac-algorithms.ts';
export { buildDe55, issuerTags } from '../../codecs/emv/de55.ts';
export { schemeOfAid, schemeOfPan } from '../../codecs/emv/scheme.ts';
export { encodeTlv, indexTlv, type TlvIndex } from '../../codecs/emv/tlv.ts';
export { compileSpec } from '../../codecs/iso8583/codec.ts';
export * from '../../codecs/iso8583/fields.ts';
export { SPACES_LEFT, SPACES_RIGHT, ZEROS_LEFT } from '../../codecs/iso8583/padding.ts';
export { defineSpec, type MessageOf, type Spec } from '../../codecs/iso8583/spec.ts';
export { ACTION_CODES_1993, actionCode1993, REVERSAL_CODES_1993 } from './action-codes-1993.ts';
export { classifyOutcome, classifyReversalAnswer, type OutcomeContext } from './classify-outcome.ts';
export { defineProcessor } from './define-processor.ts';
export { localDateTime, transmissionDateTime } from './field-dates.ts';
export { acceptorAddress, acceptorNameLocation, amountDigits, otherStan, retrievalReference } from './field-values.ts';
export { PRIMARY_FIELDS_1987, SECONDARY_FIELDS_1987 } from './fields-1987.ts';
export { PRIMARY_FIELDS_1993, SECONDARY_FIELDS_1993 } from './fields-1993.ts';
export type { IsoMessage, Mutable } from './iso-message.ts';
export { answers, isResponse, keepFields, messageClass, missingFields, responseMti } from './iso-message.ts';
export { keyExchangeFaults } from './key-change.ts';
export { keyExchangeConfig } from './key-exchange-config.ts';
export { PROCESSOR_KIT } from './kit-version.ts';
export type { MacField, MacKeySet, MacKeys, MacRule, MacValue, NumberedMacKey, WireValues } from './mac-rule.ts';
export { MacPlace } from './mac-rule.ts';
export { type MacVerdict, macVerdictOf } from './mac-verdict.ts';
export { configuredMacKeys, macMethodOf, messageCodec } from './message-codec.ts';
export type * from './processor.ts';
export { meaningOf, networkKindOf, REVERSAL_SCHEDULE } from './profile.ts';
export { framingOf, profileOf } from './profile-of.ts';
export { brokenRules, isMoment, moment, notZero, presence, type RequestRule, ruleTable } from './request-rules.ts';
export { declineCodes, PIN_REQUIRED_CODES, pinRequestCode, REVERSAL_CODES, UNCERTAIN_CODES } from './response-codes.ts';
export { authenticationAsksForPin, singleTapData, singleTapFlag } from './single-tap.ts';
export { switchConfig } from './switch-config.ts';
export { type ProcessorProtocol, type SwitchProtocolOptions, switchProtocol } from './switch-protocol.ts';
