import { SimulatorError } from '../../../basics/errors.ts';
import type { IsoMessage, Processor, SimulatedRequest } from '../../../kits/processor-kit/index.ts';
import type { Random } from '../faults.ts';
import type { Ledger, Said } from '../ledger.ts';
import {
  APPROVALS,
  type Bank,
  type ConnectionFate,
  entryOf,
  type Reaction,
  SILENT,
  type SimulatedSession,
  type SwitchCounters,
} from '../simulated-switch.ts';
import {
  AUTHORIZATION_VIOLATIONS,
  chooseViolation,
  pick,
  REVERSAL_VIOLATIONS,
  UNKNOWN,
  unmatchedReaction,
  type Violation,
} from './violations.ts';

/**
 * The behaviour of a simulated switch. `correct`: it responds to each request once, correctly. `faulty`: requests and
 * responses are lost, late, duplicated and corrupted, but their content is correct. `arbitrary`: it also sends
 * arbitrary responses to any request, at any time.
 */
const BEHAVIOURS = ['correct', 'faulty', 'arbitrary'] as const;

export type Behaviour = (typeof BEHAVIOURS)[number];

/** Shares of requests, 0 to 1. */
interface Rates {
  /** Authorizations, refunds and completions that are handled incorrectly. */
  readonly authorizations: number;
  readonly reversals: number;
  /** Sign-ons and echoes without a response. */
  readonly network: number;
  /** Number of requests between two repeated responses to earlier requests. */
  readonly unmatchedResponses: number;
  /** Number of requests between two connections that are closed, go silent or are signed off. */
  readonly lines: number;
}

/**
 * With 200 taps per second for ten minutes, each kind of violation occurs some hundred times, a connection is lost
 * about every ten seconds, and most transactions still complete.
 */
const RATES: Readonly<Record<Exclude<Behaviour, 'correct'>, Rates>> = {
  faulty: { authorizations: 0.04, reversals: 0.1, network: 0.005, unmatchedResponses: 0.005, lines: 0.000_1 },
  arbitrary: { authorizations: 0.2, reversals: 0.4, network: 0.02, unmatchedResponses: 0.02, lines: 0.000_5 },
};

/** @throws SimulatorError `BEHAVIOUR_UNKNOWN` */
export function parseBehaviour(text: string): Behaviour {
  const behaviour = BEHAVIOURS.find((known) => known === text);
  if (behaviour === undefined)
    throw new SimulatorError('BEHAVIOUR_UNKNOWN', `--behaviour ${text}: expected correct, faulty or arbitrary`);
  return behaviour;
}

/** Earlier requests that can get another response: some minutes of a load test. */
const REMEMBERED = 20_000;
/** DE39 of responses that report a reversal's original as unknown or already reversed. */
const GONE = ['25', '21', '94'];
/** DE39 of responses that are neither a full approval nor a decline. */
const IN_DOUBT: readonly string[] = [...UNKNOWN, '10'];
const FATES: readonly ConnectionFate[] = ['close', 'silence', 'signOff'];
/** Share of unmatched responses that repeat the first response. After a false response, any later one is possible. */
const HONEST_UNMATCHED = 0.5;

interface Remembered {
  readonly message: IsoMessage;
  readonly request: SimulatedRequest;
  readonly honest: Reaction;
}

/**
 * A faulty switch around a correct one. It may lose requests, and respond arbitrarily to any earlier request, at any
 * time, any number of times and on any connection, or not at all. Only the ledger is correct. The ledger also
 * stores what the switch reported, because no acquirer can know that an acknowledged request was not executed.
 */
export class FaultySwitch implements Bank {
  readonly #options;
  readonly #violations: { readonly authorization: readonly Violation[]; readonly reversal: readonly Violation[] };
  readonly #remembered: Remembered[] = [];
  #next = 0;

  constructor(options: {
    readonly processor: Processor;
    /** Executes requests and responds correctly. */
    readonly bank: Bank;
    readonly ledger: Ledger;
    readonly random: Random;
    readonly behaviour: Exclude<Behaviour, 'correct'>;
    readonly deadlineMs: number;
    /** Called for each violation. */
    readonly onViolation?: ((name: string) => void) | undefined;
  }) {
    this.#options = options;
    const allowed = (violations: readonly Violation[]) =>
      violations.filter(({ isLie }) => options.behaviour === 'arbitrary' || !isLie);
    this.#violations = { authorization: allowed(AUTHORIZATION_VIOLATIONS), reversal: allowed(REVERSAL_VIOLATIONS) };
  }

  get counters(): SwitchCounters {
    return this.#options.bank.counters;
  }

  react(message: IsoMessage, session: SimulatedSession): Reaction | Promise<Reaction> {
    const { processor, bank, random, behaviour } = this.#options;
    const request = processor.readRequest(message);
    if (!isMoney(request)) {
      if (request.kind === 'network' && random.next() < RATES[behaviour].network)
        return this.#record('network lost', SILENT);
      return bank.react(message, session);
    }
    return this.#misbehave(message, request, session);
  }

  async #misbehave(message: IsoMessage, request: SimulatedRequest, session: SimulatedSession): Promise<Reaction> {
    const { bank, random, behaviour, deadlineMs } = this.#options;
    const { amountMinor } = request;
    let honest: Reaction = SILENT;
    const occasion = {
      ...{ random, deadlineMs, amountMinor },
      honest: async () => {
        honest = await bank.react(message, session);
        return honest;
      },
    };
    session.tids ??= new Set();
    session.tids.add(request.tid);
    const violation = this.#choose(request);
    const isTaken = violation?.name !== 'request lost';
    const reaction = await (violation ? violation.commit(occasion) : occasion.honest());
    if (isTaken && request.kind !== 'reversal' && request.kind !== 'completion') this.#said(request).received++;
    if (violation) this.#options.onViolation?.(violation.name);
    if (isTaken) this.#remember({ message, request, honest });
    const isStrayDue = this.#remembered.length > 0 && random.next() < RATES[behaviour].unmatchedResponses;
    const unmatched = isStrayDue ? [this.#unmatched()] : [];
    const fate = random.next() < RATES[behaviour].lines ? [this.#fate()] : [];
    const sent = [reaction, ...(reaction.more ?? [])].map((each) => this.#recorded(request, each));
    return { ...sent[0]!, more: [...sent.slice(1), ...unmatched, ...fate] };
  }

  #choose({ kind }: SimulatedRequest): Violation | undefined {
    const { random, behaviour } = this.#options;
    const rates = RATES[behaviour];
    const isReversal = kind === 'reversal';
    if (random.next() >= (isReversal ? rates.reversals : rates.authorizations)) return undefined;
    return chooseViolation(random, isReversal ? this.#violations.reversal : this.#violations.authorization);
  }

  /** A response to an earlier request: the original one, or an arbitrary one. */
  #unmatched(): Reaction {
    const { random, behaviour } = this.#options;
    const { message, request, honest } = pick(random, this.#remembered)!;
    const isHonest = behaviour === 'faulty' || random.next() < HONEST_UNMATCHED;
    const unmatched = unmatchedReaction(random, request.kind === 'reversal');
    const { delayMs, isElsewhere } = unmatched;
    const reaction = isHonest ? { ...honest, more: undefined, delayMs, isElsewhere } : unmatched;
    this.#options.onViolation?.(isHonest ? 'unmatched response, as before' : 'unmatched response');
    return { ...this.#recorded(request, reaction), to: message };
  }

  #fate(): Reaction {
    const lineFate = pick(this.#options.random, FATES);
    return this.#record(`line: ${lineFate}`, { ...SILENT, lineFate });
  }

  #record(name: string, reaction: Reaction): Reaction {
    this.#options.onViolation?.(name);
    return reaction;
  }

  #remember(remembered: Remembered): void {
    this.#remembered[this.#next] = remembered;
    this.#next = (this.#next + 1) % REMEMBERED;
  }

  /** Stores the content of a response in the ledger when it is sent, if the acquirer can read it. */
  #recorded(request: SimulatedRequest, reaction: Reaction): Reaction {
    const { response, spoil, distort } = reaction;
    if (response === undefined || distort !== undefined || (spoil !== 'no' && spoil !== 'duplicate')) return reaction;
    if (request.kind === 'completion') return reaction;
    const note =
      request.kind === 'reversal'
        ? this.#noteOfReversal(request, response.responseCode)
        : this.#noteOf(request, reaction);
    return { ...reaction, onSent: note };
  }

  #noteOf(request: SimulatedRequest, { response }: Reaction): Reaction['onSent'] {
    const { responseCode, amountMinor = request.amountMinor, isOtherStan = false } = response!;
    const isApproval = APPROVALS.includes(responseCode);
    const isInDoubt = amountMinor !== request.amountMinor || isOtherStan || IN_DOUBT.includes(responseCode);
    if (isInDoubt) return undefined;
    let sentAtMs = 0;
    return (isSure) => {
      const said = this.#said(request);
      if (!isSure) sentAtMs = Date.now();
      if (!isApproval) said.declines += isSure ? 0 : 1;
      else if (isSure) said.approvedAtMs = sentAtMs;
      else said.approvals++;
    };
  }

  #noteOfReversal({ originalKey }: SimulatedRequest, responseCode: string): Reaction['onSent'] {
    const { ledger, processor } = this.#options;
    const isDone = APPROVALS.includes(responseCode) || GONE.includes(responseCode);
    return (isSure) => {
      const entry = ledger.find(processor.type, originalKey ?? '');
      if (isSure || entry === undefined) return;
      const said = ledger.saidOf(entry);
      if (isDone) said.acknowledgedAtMs = Date.now();
      else said.refusedReversals++;
    };
  }

  #said(request: SimulatedRequest): Said {
    const { ledger, processor } = this.#options;
    return ledger.saidOf(entryOf(processor.type, request, ''));
  }
}

function isMoney({ kind, faults }: SimulatedRequest): boolean {
  return kind !== 'network' && kind !== 'unsupported' && faults.length === 0;
}
