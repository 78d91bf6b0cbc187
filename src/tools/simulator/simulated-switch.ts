import {
  type IsoMessage,
  macVerdictOf,
  type PinData,
  type Processor,
  type SimulatedRequest,
  type SimulatedResponse,
  type SwitchConfig,
  type WorkingKeyUse,
} from '../../kits/processor-kit/index.ts';
import type { PinTries } from './card-accounts.ts';
import type { FaultDraw, FaultKind, Latency, Random } from './faults.ts';
import type { ChipVerdict } from './issuer/issuer.ts';
import type { Ledger, NewEntry } from './ledger.ts';
import { type Replay, type Scenario, scenarioOf } from './scenarios.ts';
import type { SwitchKeys } from './switch-keys.ts';

/** The reaction of the switch to a request. */
export interface Reaction {
  /** Undefined for no response. */
  readonly response: SimulatedResponse | undefined;
  readonly delayMs: number;
  readonly spoil: Spoil;
  /** Duration of an outage after the response; usually 0. */
  readonly outageMs: number;
  /** A requested key, which is announced on the same connection after the response. */
  readonly announces?: WorkingKeyUse | undefined;
  /** Further responses besides this one. */
  readonly more?: readonly Reaction[] | undefined;
  /** The request that the response belongs to, if it is not the received one. */
  readonly to?: IsoMessage | undefined;
  /** Whether the response is sent on another connection than its request. */
  readonly isElsewhere?: boolean | undefined;
  /** Changes fields of the response that should repeat the request. */
  readonly distort?: ((response: IsoMessage) => void) | undefined;
  /**
   * Called when the response was sent, and later when its connection stayed open, so that the response has
   * certainly arrived.
   */
  readonly onSent?: ((isSure: boolean) => void) | undefined;
  /** What happens to the connection afterwards. */
  readonly lineFate?: ConnectionFate | undefined;
}

/** A connection is closed, goes silent while it still reads, or is signed off by the switch. */
export type ConnectionFate = 'close' | 'silence' | 'signOff';

/** The part of a switch that decides; other classes handle connections and sockets. */
export interface Bank {
  readonly counters: SwitchCounters;
  react(message: IsoMessage, session: SimulatedSession): Reaction | Promise<Reaction>;
}

/** How the response is corrupted. */
export type Spoil = 'no' | 'garbage' | 'disconnect' | 'duplicate' | 'badMac';

/** The state of one connection. */
export interface SimulatedSession {
  isSignedOn: boolean;
  /**
   * Terminals that used the connection, if recorded. A response can be sent on any connection of its acquirer, and
   * on no other.
   */
  tids?: Set<string>;
}

/** Checks whether the PIN is the test PIN. A parameter, because only an HSM can open a PIN block. */
export type VerifyPin = (pin: PinData, pan: string) => Promise<boolean>;

/** A response is certainly late this long after the deadline. */
const LATE_BY_MS = 3_000;

export const SILENT: Reaction = { response: undefined, delayMs: 0, spoil: 'no', outageMs: 0 };

/** Codes with which an issuer approves the full amount; each of them is booked. */
export const APPROVALS: readonly string[] = ['00', '08', '11', '16'];
const PARTIAL = '10';

/** Counters since the start, for the statistics. */
export interface SwitchCounters {
  requests: number;
  approved: number;
  declined: number;
  reversals: number;
  refused: number;
  network: number;
}

/**
 * The switch without its network: executes a request, books it and returns the response. It knows no bytes and no
 * sockets; the processor defines the dialect.
 */
export class SimulatedSwitch implements Bank {
  readonly counters: SwitchCounters = { requests: 0, approved: 0, declined: 0, reversals: 0, refused: 0, network: 0 };
  readonly #processor: Processor;
  readonly #needsSignOn: boolean;
  readonly #wantsCompletion: boolean;
  readonly #lateMs: number;
  readonly #options;
  #approvals = 0;

  constructor(
    processor: Processor,
    config: SwitchConfig,
    options: {
      readonly ledger: Ledger;
      readonly random: Random;
      readonly faults: FaultDraw | undefined;
      readonly latency: Latency | undefined;
      /** The earliest time of a late response: the acquirer's deadline. */
      readonly deadlineMs: number;
      /** Multiplies every time of a scenario: with 0.01, a silence of 10 s lasts a tenth of a second. */
      readonly timeScale: number;
      readonly verifyPin: VerifyPin | undefined;
      readonly pinTries: PinTries;
      /** Recorded responses, which take precedence over the amount. */
      readonly replay: Replay | undefined;
      readonly keys: Pick<SwitchKeys, 'exchanged' | 'isPinKeyLive'>;
      /** Verifies the chip data of cards whose keys it knows. Without it, no chip data are read. */
      readonly judgeChip?: ((request: SimulatedRequest) => ChipVerdict | undefined) | undefined;
      /** Called for requests that were refused for their form or time, with names of fields, never values. */
      readonly onRefused: (responseCode: string, reason: string) => void;
    },
  ) {
    this.#processor = processor;
    this.#needsSignOn = config.signOn;
    this.#wantsCompletion = processor.completion?.isWanted(config) ?? false;
    this.#lateMs = options.deadlineMs + LATE_BY_MS * options.timeScale;
    this.#options = options;
  }

  /** Returns a promise only when a PIN must be verified. */
  react(message: IsoMessage, session: SimulatedSession): Reaction | Promise<Reaction> {
    this.counters.requests++;
    const macVerdict = macVerdictOf(message) ?? 'good';
    const request = this.#processor.readRequest(message);
    // If keys are exchanged, the two sides can have different keys until an exchange completes.
    const canDisagree = request.kind === 'network' && this.#options.keys.exchanged.length > 0;
    if (macVerdict !== 'good' && !canDisagree) return this.#refuse('30', `MAC ${macVerdict}`);
    if (request.kind === 'unsupported') return this.#refuse('12', 'message type not supported');
    if (request.faults.length > 0) return this.#refuse('30', `missing or malformed: ${request.faults.join(', ')}`);
    if (request.network === 'keyChange') return this.#promiseKey(message);
    if (request.kind === 'network') return this.#respondToNetwork(request, session);
    if (this.#needsSignOn && !session.isSignedOn) return this.#refuse('91', 'not signed on');
    if (request.kind === 'reversal') return this.#reverse(request);
    if (request.kind === 'completion') return this.#complete(request);
    if (request.pin !== undefined && !this.#options.keys.isPinKeyLive(request.pin))
      return this.#refuse('30', 'a PIN under a key that is not live');
    const verdict = this.#options.judgeChip?.(request);
    return verdict === undefined ? this.#decide(request) : this.#decideByChip(request, verdict);
  }

  #decideByChip(request: SimulatedRequest, verdict: ChipVerdict): Reaction | Promise<Reaction> {
    if (verdict.responseCode !== undefined) return signed(this.#decline(verdict.responseCode), verdict);
    const decided = verdict.asksForPin ? this.#authorize(request, { kind: 'pin' }) : this.#decide(request);
    return decided instanceof Promise
      ? decided.then((reaction) => signed(reaction, verdict))
      : signed(decided, verdict);
  }

  #decide(request: SimulatedRequest): Reaction | Promise<Reaction> {
    if (request.pin !== undefined) return this.#checkPin(request, request.pin);
    const { scenario, delayMs } = this.#planFor(request);
    return later(this.#authorize(request, scenario), delayMs);
  }

  /** What decides about a payment: a recording, else its card, else its amount. */
  #planFor(request: SimulatedRequest): { readonly scenario: Scenario; readonly delayMs: number } {
    const { replay, ledger, timeScale } = this.#options;
    const recorded = replay?.next(request);
    if (recorded !== undefined) return { scenario: recorded.scenario, delayMs: recorded.delayMs * timeScale };
    const amountMinor = ledger.accounts.find(request.pan)?.scenarioAmount ?? request.amountMinor;
    return { scenario: scenarioOf(amountMinor), delayMs: 0 };
  }

  #respondToNetwork(request: SimulatedRequest, session: SimulatedSession): Reaction {
    this.counters.network++;
    if (request.network === undefined) return this.#refuse('12', 'network management code not supported');
    if (request.network === 'signOn') session.isSignedOn = true;
    if (request.network === 'signOff') session.isSignedOn = false;
    return { ...SILENT, response: { responseCode: '00' } };
  }

  #promiseKey(message: IsoMessage): Reaction {
    this.counters.network++;
    const use = this.#processor.keyChange?.readUse(message);
    const isAgreed = use !== undefined && this.#options.keys.exchanged.includes(use);
    if (!isAgreed) return this.#refuse('40', 'no exchange of such a key was agreed');
    return { ...SILENT, response: { responseCode: '00' }, announces: use };
  }

  #refuse(responseCode: string, reason: string): Reaction {
    this.counters.refused++;
    this.#options.onRefused(responseCode, reason);
    return { ...SILENT, response: { responseCode } };
  }

  #reverse(request: SimulatedRequest): Reaction {
    this.counters.reversals++;
    const { type } = this.#processor;
    const fate = this.#options.ledger.reverse(type, request.originalKey ?? '', request.tid, Date.now());
    if (fate === 'ignored') return SILENT;
    const response = { responseCode: fate === 'notFound' ? '25' : '00' };
    return this.#onItsWay({ ...SILENT, response }, this.#drawFault());
  }

  #complete(request: SimulatedRequest): Reaction {
    const isPosted = this.#options.ledger.complete(this.#processor.type, request.originalKey ?? '');
    return this.#onItsWay({ ...SILENT, response: { responseCode: isPosted ? '00' : '25' } }, this.#drawFault());
  }

  async #checkPin(request: SimulatedRequest, pin: PinData): Promise<Reaction> {
    const isRight = await this.#isRightPin(pin, request.pan);
    const responseCode = this.#options.pinTries.judge(request.pan, isRight);
    if (responseCode !== '00') return this.#decline(responseCode);
    const { scenario, delayMs } = this.#planFor(request);
    return later(
      this.#authorize(request, scenario.kind === 'pin' ? { kind: 'response', responseCode } : scenario),
      delayMs,
    );
  }

  /** A block that cannot be opened counts as a wrong PIN. Without a verifier, every PIN is right. */
  async #isRightPin(pin: PinData, pan: string): Promise<boolean> {
    try {
      return (await this.#options.verifyPin?.(pin, pan)) ?? true;
    } catch {
      return false;
    }
  }

  #authorize(request: SimulatedRequest, scenario: Scenario): Reaction {
    const fault = this.#drawFault();
    if (scenario.kind === 'pin') {
      this.counters.declined++;
      return this.#onItsWay({ ...SILENT, response: { responseCode: '', asksForPin: true } }, fault);
    }
    if (scenario.kind === 'response' && !APPROVALS.includes(scenario.responseCode)) {
      return this.#decline(scenario.responseCode, fault);
    }
    if (fault === 'decline') return this.#decline('05');
    const known = this.#options.ledger.find(this.#processor.type, request.key);
    if (known !== undefined && known.state !== 'unbooked') return this.#decline('94');
    if (this.#options.ledger.isFull) return this.#refuse('96', 'the ledger is full');
    return this.#decideByCard(request, scenario, fault);
  }

  /** The issuer of the card decides, if it has an account for it. */
  #decideByCard(request: SimulatedRequest, scenario: Scenario, fault: FaultKind | undefined): Reaction {
    const account = request.kind === 'refund' ? undefined : this.#options.ledger.accounts.find(request.pan);
    const decision = account?.decide(approvedBy(scenario, request.amountMinor), request.currencyNumeric);
    if (decision?.responseCode !== undefined) return this.#decline(decision.responseCode, fault);
    const isPartial = decision !== undefined && decision.approvedMinor < approvedBy(scenario, request.amountMinor);
    const approvedMinor = decision?.approvedMinor ?? approvedBy(scenario, request.amountMinor);
    return this.#onItsWay(this.#approve(request, isPartial ? { kind: 'partial' } : scenario, approvedMinor), fault);
  }

  #decline(responseCode: string, fault?: FaultKind): Reaction {
    this.counters.declined++;
    return this.#onItsWay({ ...SILENT, response: { responseCode } }, fault);
  }

  /** Books the approval before its response, which can then be lost; reversals exist for this case. */
  #approve(request: SimulatedRequest, scenario: Scenario, approvedMinor: number): Reaction {
    this.counters.approved++;
    const authorizationCode = String(++this.#approvals % 1_000_000).padStart(6, '0');
    const entry = entryOf(this.#processor.type, request, authorizationCode);
    this.#options.ledger.approve(
      { ...entry, approvedMinor, account: this.#options.ledger.accounts.find(request.pan) },
      {
        deafFor: scenario.kind === 'deafToReversals' ? scenario.times : 0,
        isPosted: request.kind === 'refund' || !this.#wantsCompletion,
      },
    );
    const responseCode = scenario.kind === 'response' ? scenario.responseCode : '00';
    return this.#approvalOf(scenario, { responseCode, authorizationCode }, approvedMinor);
  }

  #approvalOf(scenario: Scenario, response: SimulatedResponse, approvedMinor: number): Reaction {
    const { timeScale } = this.#options;
    switch (scenario.kind) {
      case 'silence':
        return SILENT;
      case 'late':
        return { ...SILENT, response, delayMs: this.#lateMs };
      case 'slow':
        return { ...SILENT, response, delayMs: scenario.afterMs * timeScale };
      case 'partial':
        return { ...SILENT, response: { ...response, responseCode: PARTIAL, amountMinor: approvedMinor } };
      case 'otherAmount':
        return { ...SILENT, response: { ...response, amountMinor: approvedMinor + 1 } };
      case 'otherStan':
        return { ...SILENT, response: { ...response, isOtherStan: true } };
      case 'outage':
        return { ...SILENT, response, outageMs: scenario.forMs * timeScale };
      case 'garbage':
      case 'disconnect':
      case 'duplicate':
      case 'badMac':
        return { ...SILENT, response, spoil: scenario.kind };
      default:
        return { ...SILENT, response };
    }
  }

  #drawFault(): FaultKind | undefined {
    return this.#options.faults?.(this.#options.random);
  }

  /** Adds the connection's latency and the drawn fault. */
  #onItsWay(reaction: Reaction, fault: FaultKind | undefined): Reaction {
    const { latency, random } = this.#options;
    if (latency === undefined && fault === undefined) return reaction;
    if (fault === 'drop') return SILENT;
    const delayMs = reaction.delayMs + (latency?.(random) ?? 0) + (fault === 'late' ? this.#lateMs : 0);
    return { ...reaction, delayMs, spoil: SPOIL_BY_FAULT[fault ?? 'drop'] ?? reaction.spoil };
  }
}

const SPOIL_BY_FAULT: Readonly<Partial<Record<FaultKind, Spoil>>> = {
  duplicate: 'duplicate',
  garble: 'garbage',
  disconnect: 'disconnect',
};

function approvedBy(scenario: Scenario, amountMinor: number): number {
  if (scenario.kind !== 'partial') return amountMinor;
  const { approvedMinor = amountMinor } = scenario;
  return approvedMinor < amountMinor ? approvedMinor : Math.floor(amountMinor / 2);
}

function signed(reaction: Reaction, { complete }: ChipVerdict): Reaction {
  const { response } = reaction;
  if (response === undefined) return reaction;
  const isApproved = [...APPROVALS, PARTIAL].includes(response.responseCode);
  return { ...reaction, response: complete(response, isApproved) };
}

function later(reaction: Reaction, delayMs: number): Reaction {
  return delayMs === 0 ? reaction : { ...reaction, delayMs: reaction.delayMs + delayMs };
}

/** The ledger entry of an authorization that was approved for the full amount. */
export function entryOf(processor: string, request: SimulatedRequest, authorizationCode: string): NewEntry {
  const { key, kind, stan, rrn, tid, currencyNumeric, amountMinor } = request;
  return {
    ...{ processor, key, kind: kind === 'refund' ? 'refund' : 'sale', stan, rrn, tid, currencyNumeric, amountMinor },
    ...{ approvedMinor: amountMinor, authorizationCode, approvedAtMs: Date.now() },
  };
}
