import { openLink } from '../../src/payments/links/link-lifecycle.ts';
import { Disposition, dispositionName } from '../../src/payments/model/disposition.ts';
import type { Link } from '../../src/payments/model/link.ts';
import { isAwaitingPin } from '../../src/payments/model/pin.ts';
import { type Transaction, TransactionType } from '../../src/payments/model/transaction.ts';
import type { Principal } from '../../src/payments/ports/directory-ports.ts';
import type { PinRequest, TapRequest } from '../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../src/payments/ports/transaction-dependencies.ts';
import { createUseCases } from '../../src/payments/use-cases.ts';
import type { Random } from '../../src/tools/simulator/faults.ts';
import type { MemoryStore } from './memory-store.ts';
import type { ReportedToClient } from './rules/books.ts';
import { PIN_SECONDS } from './simulated-process.ts';
import { PRINCIPAL } from './simulated-tenant.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A client closes its connection after this time. */
const PATIENCE_MS = 60_000;

export interface ClientParts {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly store: MemoryStore;
  /** Any running process; undefined without one. */
  readonly anyWorld: () => TransactionDependencies | undefined;
  readonly onSeen: (what: string) => void;
  readonly tell: (what: string) => void;
  /** A use case has thrown an error that has no response for clients. */
  readonly onError: (error: unknown) => void;
}

/** Phones and tills: they send requests, may have disconnected when the response arrives, and repeat their requests. */
export class SimulatedClients {
  readonly reported: ReportedToClient[] = [];
  readonly #parts: ClientParts;
  #refunds = 0;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Pays a link with its own token, under the reference in its details. */
  async customer(link: Pick<Link, 'acquirerId' | 'id' | 'merchantId'>, device: string): Promise<void> {
    const { anyWorld, onSeen, onError } = this.#parts;
    const deps = anyWorld();
    const opened = deps && (await openLink(deps.links, link, link.id).catch((error: unknown) => void onError(error)));
    if (!opened) return;
    onSeen('a link opened');
    const { merchantReference } = opened;
    const request = { merchantReference, deviceInstallationId: device, paymentCardData: 'tap' } as TapRequest;
    await this.phone(request, { ...PRINCIPAL, consumerId: link.id });
  }

  /**
   * Submits a tap, and repeats the same request while it has no response. The card is tapped again if nothing was sent.
   */
  async phone(asks: TapRequest, principal: Principal = PRINCIPAL): Promise<void> {
    const { time, random } = this.#parts;
    let request = asks;
    for (let tries = 0; tries < 5; tries++) {
      const response = await this.#ask((deps) => createUseCases(deps).taps.submit(principal, request));
      if (response?.disposition === Disposition.UnableToGoOnline) {
        request = { ...request, paymentCardData: `tap again ${tries}` };
      } else if (response && isAwaitingPin(response)) {
        await this.#enterPins(response, request, principal);
        return;
      } else if (response && random.next() < 0.8) return;
      await time.pass(500 + random.next() * 20_000);
    }
  }

  /** Enters PINs as long as one is required: in time or not, and sometimes two different ones at once. */
  async #enterPins(awaiting: Transaction, tap: TapRequest, principal: Principal): Promise<void> {
    const { time, random, onSeen } = this.#parts;
    for (let tries = 0; tries < 6; tries++) {
      await time.pass(random.next() * PIN_SECONDS * 1_200);
      const enter = (pin: string) =>
        this.#ask((deps) => createUseCases(deps).pins.submit(principal, awaiting.id, pinRequest(tap, pin)));
      const isTwice = random.next() < 0.2;
      const responses = await Promise.all([enter(`${tries}1`), ...(isTwice ? [enter(`${tries}2`)] : [])]);
      if (isTwice) onSeen('two PINs at once');
      if (responses.some((response) => response && !isAwaitingPin(response))) return;
    }
  }

  /** Refunds sales, in part or completely; repeats a request without a response at another process. */
  async merchant(): Promise<void> {
    const { random } = this.#parts;
    const sales = this.#approvedSales();
    const sale = sales[Math.floor(random.next() * sales.length)];
    if (!sale) return;
    const wants = Array.from({ length: 1 + Math.floor(random.next() * 3) }, (_, index) => ({
      isVoid: random.next() < 0.4,
      amount: `${1 + Math.floor(random.next() * 9)}.00`,
      refundReference: `${sale.merchantReference} back ${this.#refunds++} ${index}`,
    }));
    await Promise.all(wants.map((wanted) => this.#giveBack(sale, wanted)));
  }

  /** Requests a refund of every sale that seems to be booked. */
  async refundEverything(): Promise<void> {
    const wants = this.#approvedSales().map((sale) => {
      const left = ((sale.approvedMinor ?? 0) - sale.refundedMinor) / 100;
      return this.#giveBack(sale, {
        isVoid: false,
        amount: left.toFixed(2),
        refundReference: `${sale.merchantReference} at the end`,
      });
    });
    await Promise.all(wants);
  }

  async #giveBack(
    { acquirerId, id }: Transaction,
    { isVoid, ...request }: { isVoid: boolean; amount: string; refundReference: string },
  ): Promise<void> {
    const { random, onSeen } = this.#parts;
    for (let tries = 0; tries < 2; tries++) {
      await this.#ask(async (deps) => {
        const sale = await deps.store.find({ acquirerId, id });
        if (!sale) return undefined;
        onSeen(isVoid ? 'a void' : 'a refund');
        return isVoid ? createUseCases(deps).voids.start(sale) : createUseCases(deps).refunds.refund(sale, request);
      });
      if (random.next() < 0.7) return;
    }
  }

  #approvedSales(): Transaction[] {
    return [...this.#parts.store.rows.values()]
      .map(({ transaction }) => transaction)
      .filter(({ disposition, type }) => disposition === Disposition.Approved && type === TransactionType.Tap);
  }

  /** A request to any process: undefined if there was no response or no process. */
  async #ask(
    use: (deps: TransactionDependencies) => Promise<Transaction | undefined>,
  ): Promise<Transaction | undefined> {
    const { anyWorld, time, random, tell, onError } = this.#parts;
    const deps = anyWorld();
    if (!deps) return undefined;
    const failed = (error: unknown) => void onError(error);
    const response = await Promise.race([use(deps).catch(failed), time.pass(PATIENCE_MS)]);
    if (!response) return undefined;
    const isFlushed = random.next() < 0.9;
    createUseCases(deps).outcomes.recordResponse(response, isFlushed);
    if (!isFlushed) return undefined;
    const { id: transactionId, attempt } = response;
    const disposition = response.disposition === null ? null : dispositionName(response.disposition);
    this.reported.push({ transactionId, attempt, disposition });
    tell(`the client of ${transactionId} gets ${disposition ?? 'a request for the PIN'}`);
    return response;
  }
}

function pinRequest(tap: TapRequest, pin: string): PinRequest {
  return { ...tap, pinToken: 'token', pinBlock: `${pin}00000000000000`, ksn: '00000000000000000000' };
}
