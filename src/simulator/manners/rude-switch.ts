import type { IsoMessage, Processor, SimulatedRequest } from '../../processor-kit/index.ts';
import type { Ledger, Said } from '../ledger.ts';
import type { Random } from '../random.ts';
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
import { type Manners, RATES } from './manners.ts';
import {
  AUTHORIZATION_MISDEEDS,
  chooseMisdeed,
  type Misdeed,
  pick,
  REVERSAL_MISDEEDS,
  strayOf,
  UNKNOWN,
} from './misdeeds.ts';

/** Earlier requests that may be answered once more: some minutes of a load test. */
const REMEMBERED = 20_000;
/** DE39 of an answer by which a reversal concerns nothing that the switch knows, and those by which it was done before. */
const GONE = ['25', '21', '94'];
/** DE39 that is neither an approval of the whole nor a decline. */
const IN_DOUBT: readonly string[] = [...UNKNOWN, '10'];
const FATES: readonly ConnectionFate[] = ['close', 'silence', 'signOff'];
/** After a lie has been told of a request, an answer to it at another time is as good as any. */
const HONEST_STRAYS = 0.5;

export interface RudeSwitchOptions {
  readonly processor: Processor;
  /** Does and says what a well-mannered switch would. */
  readonly bank: Bank;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly manners: Exclude<Manners, 'good'>;
  readonly deadlineMs: number;
  /** Told of each misdeed. */
  readonly onMisdeed?: ((name: string) => void) | undefined;
}

interface Remembered {
  readonly message: IsoMessage;
  readonly request: SimulatedRequest;
  readonly honest: Reaction;
}

/**
 * A switch without good manners around one that has them. It may lose what comes, answer anything to any request it has ever
 * had, at any time, any number of times and on any line, or nothing. The ledger alone is true, and keeps what was said, too:
 * no acquirer can know that something was not done that was acknowledged.
 */
export class RudeSwitch implements Bank {
  readonly #options: RudeSwitchOptions;
  readonly #misdeeds: { readonly authorization: readonly Misdeed[]; readonly reversal: readonly Misdeed[] };
  readonly #remembered: Remembered[] = [];
  #next = 0;

  constructor(options: RudeSwitchOptions) {
    this.#options = options;
    const allowed = (misdeeds: readonly Misdeed[]) =>
      misdeeds.filter(({ isLie }) => options.manners === 'none' || !isLie);
    this.#misdeeds = { authorization: allowed(AUTHORIZATION_MISDEEDS), reversal: allowed(REVERSAL_MISDEEDS) };
  }

  get counters(): SwitchCounters {
    return this.#options.bank.counters;
  }

  react(message: IsoMessage, session: SimulatedSession): Reaction | Promise<Reaction> {
    const { processor, bank, random, manners } = this.#options;
    const request = processor.readRequest(message);
    if (!isMoney(request)) {
      if (request.kind === 'network' && random.next() < RATES[manners].network)
        return this.#tell('network lost', SILENT);
      return bank.react(message, session);
    }
    return this.#misbehave(message, request, session);
  }

  async #misbehave(message: IsoMessage, request: SimulatedRequest, session: SimulatedSession): Promise<Reaction> {
    const { bank, random, manners, deadlineMs } = this.#options;
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
    const misdeed = this.#choose(request);
    const isTaken = misdeed?.name !== 'request lost';
    const reaction = await (misdeed ? misdeed.commit(occasion) : occasion.honest());
    if (isTaken && request.kind !== 'reversal' && request.kind !== 'completion') this.#said(request).received++;
    if (misdeed) this.#options.onMisdeed?.(misdeed.name);
    if (isTaken) this.#remember({ message, request, honest });
    const isStrayDue = this.#remembered.length > 0 && random.next() < RATES[manners].unmatchedResponses;
    const unmatched = isStrayDue ? [this.#unmatched()] : [];
    const fate = random.next() < RATES[manners].lines ? [this.#fate()] : [];
    const sent = [reaction, ...(reaction.more ?? [])].map((each) => this.#telling(request, each));
    return { ...sent[0]!, more: [...sent.slice(1), ...unmatched, ...fate] };
  }

  #choose({ kind }: SimulatedRequest): Misdeed | undefined {
    const { random, manners } = this.#options;
    const rates = RATES[manners];
    const isReversal = kind === 'reversal';
    if (random.next() >= (isReversal ? rates.reversals : rates.authorizations)) return undefined;
    return chooseMisdeed(random, isReversal ? this.#misdeeds.reversal : this.#misdeeds.authorization);
  }

  /** An answer to an earlier request: what it was answered, or anything. */
  #unmatched(): Reaction {
    const { random, manners } = this.#options;
    const { message, request, honest } = pick(random, this.#remembered)!;
    const isHonest = manners === 'poor' || random.next() < HONEST_STRAYS;
    const unmatched = strayOf(random, request.kind === 'reversal');
    const { delayMs, isElsewhere } = unmatched;
    const reaction = isHonest ? { ...honest, more: undefined, delayMs, isElsewhere } : unmatched;
    this.#options.onMisdeed?.(isHonest ? 'stray answer, as before' : 'stray answer');
    return { ...this.#telling(request, reaction), to: message };
  }

  #fate(): Reaction {
    const lineFate = pick(this.#options.random, FATES);
    return this.#tell(`line: ${lineFate}`, { ...SILENT, lineFate });
  }

  #tell(name: string, reaction: Reaction): Reaction {
    this.#options.onMisdeed?.(name);
    return reaction;
  }

  #remember(remembered: Remembered): void {
    this.#remembered[this.#next] = remembered;
    this.#next = (this.#next + 1) % REMEMBERED;
  }

  /** Has the ledger keep what an answer says, when it leaves, if the other side can read it. */
  #telling(request: SimulatedRequest, reaction: Reaction): Reaction {
    const { answer, spoil, distort } = reaction;
    if (answer === undefined || distort !== undefined || (spoil !== 'no' && spoil !== 'duplicate')) return reaction;
    if (request.kind === 'completion') return reaction;
    const note =
      request.kind === 'reversal'
        ? this.#noteOfReversal(request, answer.responseCode)
        : this.#noteOf(request, reaction);
    return { ...reaction, onSent: note };
  }

  #noteOf(request: SimulatedRequest, { answer }: Reaction): Reaction['onSent'] {
    const { responseCode, amountMinor = request.amountMinor, isOtherStan = false } = answer!;
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
