import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import {
  type IsoMessage,
  type Outcome,
  type Processor,
  type SwitchConfig,
  switchProtocol,
} from '../../src/kits/processor-kit/index.ts';
import { judgeMac } from '../../src/kits/processor-kit/mac-layout.ts';
import type { RequestResult, UnmatchedResponse } from '../../src/switching/connection/pending-requests.ts';
import { openPool, type Pool } from '../../src/switching/connection/pool.ts';
import { type HsmCodec, hsmCodec, type MacHsm } from '../../src/switching/switches/hsm-codec.ts';
import type { KeyExchange } from '../../src/switching/switches/key-exchange.ts';

/** Enough time to connect and sign on, on a busy machine; not part of a tap's deadline. */
const CONNECT_WITHIN_MS = 120_000;

type TapDifference = Parameters<typeof testPurchase>[0];

/** An acquirer's side of a connection, with its own pool, opened as by the gateway. */
export class Acquirer {
  readonly pool: Pool<IsoMessage>;
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly unmatched: UnmatchedResponse<IsoMessage>[] = [];
  readonly #codec: HsmCodec;
  readonly #keys: KeyExchange | undefined;
  #stan = 0;
  #onUnmatched: (() => void) | undefined;

  constructor(processor: Processor, config: SwitchConfig, hsm?: MacHsm, keys?: KeyExchange) {
    this.processor = processor;
    this.config = config;
    this.#codec = hsmCodec(processor, config, hsm, keys?.macKeys);
    this.#keys = keys;
    const nextStan = () => this.#nextStan();
    this.pool = openPool({
      name: 'test',
      protocol: switchProtocol(processor, config, { nextStan, nowMs: Date.now, codec: this.#codec, keys }),
      addresses: config.addresses,
      limits: { connectionsPerAddress: config.connectionsPerAddress },
      timeouts: { backoff: { firstMs: 10, mostMs: 50 } },
      log: { info() {}, warn() {} },
      onUnmatched: (unmatched) => {
        this.unmatched.push(unmatched);
        this.#onUnmatched?.();
      },
    });
  }

  /** A tap of that amount; the request is kept for later messages. */
  async tap(amountMinor: number, deadlineMs = 10_000, differing: TapDifference = {}) {
    const stan = this.#nextStan();
    const amount = { amountMinor, currency: 'ZAR', currencyNumeric: '710' };
    const request = this.processor.authorization(testPurchase({ ...differing, stan, amount }), this.config);
    const result = await this.#send(request, deadlineMs);
    return { request, result, outcome: this.#outcomeOf(result, request) };
  }

  async reverse(request: IsoMessage, attempt = 1, deadlineMs = 10_000) {
    const { processor, config } = this;
    const original = processor.originalData(request);
    const stan = processor.profile.reversal.keepsStan ? original.stan! : this.#nextStan();
    const sentAtMs = Date.now() + attempt * 1_000;
    const result = await this.#send(
      processor.reversal(
        { original, reason: 'timeout', attempt, stan, sentAtMs, localDateTime: '20261120161035' },
        config,
      ),
      deadlineMs,
    );
    return result.kind === 'responded' ? processor.readReversalResponse(result.response) : result.kind;
  }

  /** The next unmatched response, or the last one if there was one already. */
  async nextUnmatched(): Promise<UnmatchedResponse<IsoMessage>> {
    if (this.unmatched.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onUnmatched = resolve;
      });
    }
    return this.unmatched.at(-1)!;
  }

  async #send(request: IsoMessage, deadlineMs: number): Promise<RequestResult<IsoMessage>> {
    const slot = await this.pool.waitForSlot({ giveUpAtMs: performance.now() + CONNECT_WITHIN_MS });
    if (slot === undefined) throw new Error('The pool has no connection.');
    await this.#codec.seal?.(request);
    const result = await slot.request(request, { deadlineAtMs: performance.now() + deadlineMs });
    if (result.kind === 'responded') await (this.#keys?.isTrusted(result.response) ?? judgeMac(result.response));
    return result;
  }

  #outcomeOf(result: RequestResult<IsoMessage>, request: IsoMessage): Outcome | undefined {
    return result.kind === 'responded' ? this.processor.readOutcome(result.response, request) : undefined;
  }

  #nextStan(): string {
    this.#stan++;
    return String(this.#stan).padStart(6, '0');
  }
}
