import { RESPONSE_CODES } from '#schemas/response-codes';
import { PlugInError } from '../../basics/errors.ts';
import { framingFault } from '../../codecs/iso8583/network/framing.ts';
import { isPartialApproval } from './classify-outcome.ts';
import { type IsoMessage, isResponseTo } from './iso-fields.ts';
import { isTrusted, macVerdictOf } from './mac-layout.ts';
import { macFault } from './mac-rule.ts';
import { terminalScopeFault } from './message-identity.ts';
import type {
  Outcome,
  OutcomeFacts,
  Processor,
  ProcessorDefinition,
  ReversalResponse,
  SwitchConfig,
} from './processor.ts';
import type { ProcessorProfile } from './profile.ts';

/**
 * The version of the kit. A processor states the one that it was written for (`kit: 1`). It grows when a processor that
 * worked can no longer be loaded, or means something else.
 */
export const PROCESSOR_KIT = 1;

/** Where the page of processors describes the versions. */
const PAGE = 'processors/README.md, "Versions of the kit", describes each version';

/** Why a definition does not fit this version of the kit; undefined if it does. */
function kitFault({ kit }: { readonly kit: number }): string | undefined {
  if (kit === PROCESSOR_KIT) return undefined;
  if (kit > PROCESSOR_KIT)
    return `kit: written for version ${kit} of the processor kit, this gateway has version ${PROCESSOR_KIT}. Install a later version of Tapwire`;
  return `kit: must be ${PROCESSOR_KIT}, the version of the processor kit that it was written for. ${PAGE}`;
}

/** Explains why an import from the kit failed. @param name what the kit does not export */
export function missingExport(name: string): string {
  return `imports ${name}, which version ${PROCESSOR_KIT} of the processor kit does not have: the name is wrong, or the processor was written for another version. ${PAGE}`;
}

/** The type is part of database keys and metric labels. */
export const TYPE_PATTERN = /^[a-z][a-z0-9-]{0,31}$/;

const ACKNOWLEDGING: readonly ReversalResponse[] = ['acknowledged', 'unableToLocate'];

const NO_FACTS: OutcomeFacts = { responseCode: '', cardTags: [] };

/**
 * Creates a processor from its definition. It checks everything that can be checked without traffic, and adds the
 * guards around `readOutcome` that every dialect needs: the response must have the MTI for the request, its MAC must be
 * valid and the fields of `profile.echoed` must be equal. A response that fails a guard is `unknown`, and so is one
 * for which `readOutcome` throws.
 *
 * @throws PlugInError `PLUG_IN_INVALID` naming the fault of the definition
 * @example
 * export default defineProcessor({
 *   type: 'acme', kit: PROCESSOR_KIT, name: 'Acme', configSchema, exampleConfig, spec, codec: () => codec,
 *   framing, match, profile, ...messages, ...outcome, requestRules: RULES, readRequest, simulate, samples,
 *   providerId: (_config, { tid, mid }) => ({ tid, mid }),
 * });
 */
export function defineProcessor<Config extends SwitchConfig, Message extends IsoMessage>(
  definition: ProcessorDefinition<Config, Message>,
): Processor<Config, Message> {
  checkDefinition(definition);
  return Object.freeze({
    ...definition,
    readOutcome: (response: Message, request: Message) => guardedOutcome(definition, response, request),
    isReversalAcknowledged: (response: Message) => ACKNOWLEDGING.includes(definition.readReversalResponse(response)),
  });
}

function guardedOutcome<Config extends SwitchConfig, Message extends IsoMessage>(
  definition: ProcessorDefinition<Config, Message>,
  response: Message,
  request: Message,
): Outcome {
  let outcome: Outcome;
  try {
    outcome = definition.readOutcome(response, request);
  } catch {
    return { ...NO_FACTS, kind: 'unknown', why: 'the processor could not read the response' };
  }
  const why = reasonForDoubt(definition.profile, outcome, response, request);
  if (why === undefined) return outcome;
  // The sender does not have the gateway's keys, so no field of the response says anything about the switch.
  return isTrusted(response) ? doubted(outcome, why) : { ...NO_FACTS, kind: 'unknown', why };
}

function reasonForDoubt(
  profile: ProcessorProfile,
  outcome: Outcome,
  response: IsoMessage,
  request: IsoMessage,
): string | undefined {
  if (!isResponseTo(response, request)) return 'the response is of another message type';
  if (!isTrusted(response)) return `MAC ${macVerdictOf(response)}`;
  const isPartial = isPartialApproval(profile.codes, outcome.responseCode);
  for (const field of profile.echoed) {
    if (isPartial && field === profile.amountField) continue;
    if (response[field] !== request[field]) return `${field} differs from the request`;
  }
  return undefined;
}

function doubted(outcome: Outcome, why: string): Outcome {
  const { responseCode, authorizationCode, rrn, cardTags, cardType } = outcome;
  return { kind: 'unknown', why, responseCode, authorizationCode, rrn, cardTags, cardType };
}

function checkDefinition<Config extends SwitchConfig, Message extends IsoMessage>(
  definition: ProcessorDefinition<Config, Message>,
): void {
  const refuse = (reason: string) => {
    throw new PlugInError('PLUG_IN_INVALID', reason);
  };
  const otherKit = kitFault(definition);
  if (otherKit !== undefined) refuse(otherKit);
  if (!TYPE_PATTERN.test(definition.type)) refuse('type: lower case letters, digits and hyphens, at most 32');
  if (!definition.configSchema.safeParse(definition.exampleConfig).success) refuse('exampleConfig: not a valid config');
  const badFraming = framingFault(definition.framing);
  if (badFraming !== undefined) refuse(`framing: ${badFraming}`);
  for (const messageClass of ['2', '1', '4', '8']) {
    if (definition.match[messageClass]?.length === 0) refuse(`match: class ${messageClass} names no field`);
  }
  if (definition.match['1'] === undefined && definition.match['2'] === undefined) refuse('match: no class 1 or 2');
  if (definition.match['4'] === undefined) refuse('match: no class 4, reversals could not be paired');
  const fault = definition.mac && macFault(definition.spec, definition.mac);
  if (fault !== undefined) refuse(`mac: ${fault}`);
  if (!echoesItsTime(definition)) refuse('profile.echoed: neither DE7 nor DE37, a STAN that came round would approve');
  const repeated = firstRepeated(decidedCodes(definition.profile));
  if (repeated !== undefined) refuse(`profile.codes: ${repeated} has two meanings`);
  const meaningless = firstWithoutMeaning(definition.profile);
  if (meaningless !== undefined) refuse(`profile.codes.meanings: ${meaningless} has no code of 7.5`);
  const ofReversals = firstRepeated(Object.values(definition.profile.reversal.codes).flat());
  if (ofReversals !== undefined) refuse(`profile.reversal.codes: ${ofReversals} has two meanings`);
  if (definition.profile.reversal.delaysSeconds.length === 0) refuse('profile.reversal.delaysSeconds: empty');
  const scope = scopeFault(definition);
  if (scope !== undefined) refuse(`profile.stanScope: ${scope}`);
  const sample = firstRepeated(definition.samples.map(({ name }) => name));
  if (sample !== undefined) refuse(`samples: two are named ${sample}`);
}

/** A processor whose messages cannot be built fails its conformance suite, which states where. */
function scopeFault<Config extends SwitchConfig, Message extends IsoMessage>(
  definition: ProcessorDefinition<Config, Message>,
): string | undefined {
  if (definition.profile.stanScope !== 'terminal') return undefined;
  try {
    return terminalScopeFault(definition, definition.exampleConfig);
  } catch {
    return undefined;
  }
}

/** With STAN and terminal alone, a late approval could pass for that of another tap with the same STAN a day later. */
function echoesItsTime({ spec, profile }: Pick<Processor, 'spec' | 'profile'>): boolean {
  const times = [spec.fields[7]?.name, spec.fields[37]?.name];
  return profile.echoed.some((field) => times.includes(field));
}

/**
 * Codes with one meaning for every card. `pinRequired` codes are not included, because such a code may be a decline for
 * other schemes.
 */
function decidedCodes({ codes }: Pick<ProcessorProfile, 'codes'>): string[] {
  return [...codes.approved, ...codes.partial, ...codes.declined, ...codes.review];
}

/** A phone knows only the codes of 7.5. Those with which one scheme requests a PIN are not in that list. */
function firstWithoutMeaning({ codes }: ProcessorProfile): string | undefined {
  const { meanings } = codes;
  if (meanings === undefined) return undefined;
  const unlisted = decidedCodes({ codes }).find((code) => RESPONSE_CODES[meanings[code] ?? ''] === undefined);
  return unlisted ?? codes.pinRequired.find(({ code }) => meanings[code] === undefined)?.code;
}

function firstRepeated(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index);
}
