import {
  HsmUnavailable,
  Iso8583Error,
  NoConfiguration,
  Overloaded,
  PinUnusable,
  TapRefused,
} from '../../basics/errors.ts';
import { localDateTime } from '../../kits/processor-kit/field-values.ts';
import type { Purchase } from '../../kits/processor-kit/processor.ts';
import { TransactionType } from '../model/transaction.ts';
import { useOfPin } from '../pins/read-pin.ts';
import type { RouteRecord, TerminalRecord } from '../ports/directory-ports.ts';
import type { Switch, Switches } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { Draft } from './draft.ts';
import { isReady, prepareSubmission, type ReadySubmission, type RequestStamp } from './prepare-submission.ts';
import type { ReadTap } from './read-tap.ts';

/** The values of a tap that select among an acquirer's routes. */
export interface RouteQuestion {
  readonly currency: string;
  readonly scheme: string | null;
  readonly xTid: string;
}

/**
 * The routes that fit, best first: ordered by priority, and the more specific one first among equals. A route
 * without a currency, scheme or terminal fits them all.
 */
export function chooseRoutes(routes: readonly RouteRecord[], question: RouteQuestion): RouteRecord[] {
  return routes
    .filter((route) => !route.isRemoved && misfitsOf(route, question).length === 0)
    .toSorted((one, other) => one.priority - other.priority || specificity(other) - specificity(one));
}

/** The conditions of a route that a tap does not meet. */
export function misfitsOf(route: RouteRecord, question: RouteQuestion): (keyof RouteQuestion)[] {
  return (['currency', 'scheme', 'xTid'] as const).filter(
    (name) => route[name] !== null && route[name] !== question[name],
  );
}

function specificity({ currency, scheme, xTid }: RouteRecord): number {
  return Number(xTid !== null) * 4 + Number(scheme !== null) * 2 + Number(currency !== null);
}

/** Chooses the switches of taps. */
export class Routes {
  readonly #deps: TransactionDependencies;

  constructor(deps: TransactionDependencies) {
    this.#deps = deps;
  }

  /**
   * Finds the first route whose switch has a free slot, takes the slot and builds the message.
   *
   * @returns undefined if no switch can be reached now; NoConfiguration if no route or terminal fits at all;
   * TapRefused if a value of the card fits no field of the switch, or the tap has a PIN that may not be taken;
   * PinUnusable if the HSM cannot open its PIN block
   * @throws Overloaded if a switch can be reached, but no slot becomes free in time
   */
  async take(
    switches: Switches,
    draft: Draft,
    tap: ReadTap,
  ): Promise<ReadySubmission | NoConfiguration | TapRefused | PinUnusable | undefined> {
    const { acquirerId, xTid } = draft.transaction;
    const terminal = xTid === null ? undefined : this.#deps.directory.terminal(draft.transaction, xTid);
    if (!terminal) return new NoConfiguration('NO_TERMINAL');
    // A switch that cannot be opened now may take mandates: it is unavailable, and its route exists.
    const takesType = ({ processorId }: RouteRecord) =>
      draft.transaction.type !== TransactionType.TT3 || switches.find(acquirerId, processorId)?.takesMandates !== false;
    const routes = this.#routesFor(draft, tap, terminal).filter(takesType);
    if (routes.length === 0) return new NoConfiguration('NO_ROUTE');
    const taken = await this.#takeFirst(switches, { draft, tap, terminal }, byReach(switches, acquirerId, routes));
    if (taken === 'full') throw new Overloaded('switch');
    return taken === 'down' ? undefined : taken;
  }

  /** The processors that may receive the tap, best first; empty if no route or terminal fits. */
  processorsFor(draft: Draft, tap: ReadTap): readonly number[] {
    const { xTid } = draft.transaction;
    const terminal = xTid === null ? undefined : this.#deps.directory.terminal(draft.transaction, xTid);
    return terminal ? this.#routesFor(draft, tap, terminal).map(({ processorId }) => processorId) : [];
  }

  #routesFor(
    { transaction: { acquirerId, routeId } }: Draft,
    tap: ReadTap,
    { xTid }: TerminalRecord,
  ): readonly RouteRecord[] {
    const { directory } = this.#deps;
    const known = directory.routes(acquirerId);
    // A PIN uses the route of its tap.
    const allowed = routeId === null ? known : known.filter(({ id }) => id === routeId);
    return chooseRoutes(allowed, { currency: tap.currency.code, scheme: tap.facts.scheme, xTid });
  }

  async #takeFirst(
    switches: Switches,
    wanted: Wanted,
    routes: readonly RouteRecord[],
  ): Promise<ReadySubmission | TapRefused | PinUnusable | 'full' | 'down'> {
    let isFull = false;
    for (const [index, { id: routeId, processorId }] of routes.entries()) {
      const target = switches.find(wanted.draft.transaction.acquirerId, processorId);
      if (!target) continue;
      try {
        const prepared = await this.#prepare({ ...wanted, routeId, target });
        isFull ||= prepared === 'full';
        if (typeof prepared === 'string') continue;
        const others = routes.slice(index + 1);
        return { ...prepared, next: () => this.#takeNext(switches, wanted, others) };
      } catch (error) {
        // All switches share the HSM, so another route does not help, and the phone is waiting.
        if (error instanceof HsmUnavailable) return 'down';
        if (error instanceof PinUnusable || error instanceof TapRefused) return error;
        if (!(error instanceof Iso8583Error)) throw error;
        // Values from the directory have limits of their own, so the fault is in the card data.
        return new TapRefused('/paymentCardData', 'VALUE_MALFORMED', 'card', { cause: error });
      }
    }
    return isFull ? 'full' : 'down';
  }

  async #takeNext(
    switches: Switches,
    wanted: Wanted,
    routes: readonly RouteRecord[],
  ): Promise<ReadySubmission | undefined> {
    const taken = await this.#takeFirst(switches, wanted, routes);
    return typeof taken === 'object' && isReady(taken) ? taken : undefined;
  }

  async #prepare(chosen: Chosen): Promise<Omit<ReadySubmission, 'next'> | 'full' | 'down'> {
    const { draft, tap, routeId, target } = chosen;
    const { id, type } = draft.transaction;
    const terminal = { ...chosen.terminal, canTakePin: chosen.terminal.canTakePin && target.takesPin };
    // Before the slot is taken, so that a slow HSM does not block the connection for other taps.
    const pin = tap.pin && terminal.canTakePin ? await target.translatePin(tap.pin, tap.card.pan) : undefined;
    const origin = { id, routeId, tid: terminal.tid, mid: terminal.mid };
    const prepared = await prepareSubmission(this.#deps, target, origin, () => {
      if (tap.pin && !pin) throw new TapRefused('/paymentCardData', 'PIN_NOT_TAKEN', 'card');
      const build = (stamp: RequestStamp) => {
        const purchase = { ...buildPurchase({ ...chosen, terminal }, stamp), pin };
        return type === TransactionType.TT3 ? target.prepareMandate(purchase) : target.prepare(purchase);
      };
      return { card: { pan: tap.card.pan, expiry: tap.card.expiry ?? '' }, build };
    });
    if (typeof prepared === 'string') return prepared;
    const pinWait = terminal.canTakePin ? { job: this.#deps.newId(), seconds: this.#deps.pinSeconds } : null;
    return { ...prepared, pinWait, uses: tap.pin ? [useOfPin(this.#deps.readerPins.keyId, tap.pin)] : [] };
  }
}

/**
 * While another switch responds, no tap waits for a connection to open or uses one that has stopped responding.
 * Within each group the priority decides.
 */
function byReach(switches: Switches, acquirerId: number, routes: readonly RouteRecord[]): readonly RouteRecord[] {
  const reachOf = ({ processorId }: RouteRecord) => {
    const target = switches.find(acquirerId, processorId);
    if (!target?.isSignedOn) return 2;
    return target.isSuspect ? 1 : 0;
  };
  // Each switch is queried once, because its state may change during the comparison.
  const reached = routes.map((route) => ({ route, reach: reachOf(route) }));
  return reached.toSorted((one, other) => one.reach - other.reach).map(({ route }) => route);
}

/** A tap to be routed. */
interface Wanted {
  readonly draft: Draft;
  readonly tap: ReadTap;
  readonly terminal: TerminalRecord;
}

interface Chosen extends Wanted {
  readonly routeId: number;
  readonly target: Switch;
}

function buildPurchase({ draft, tap, terminal }: Wanted, { stan, rrn, sentAtMs }: RequestStamp): Purchase {
  const { merchant } = draft;
  const { card, chip, currency, amountMinor, facts } = tap;
  return {
    stan,
    rrn,
    sentAtMs,
    localDateTime: localDateTime(sentAtMs, merchant.timeZone),
    amount: { amountMinor, currency: currency.code, currencyNumeric: currency.numeric },
    card: {
      pan: card.pan,
      expiry: card.expiry ?? '',
      track2: card.track2?.text('D'),
      panSequence: card.sequenceNumber,
      scheme: facts.scheme ?? '',
    },
    chip,
    terminal,
    merchant,
  };
}
