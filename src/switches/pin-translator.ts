import type { ConnectionLog } from '../connection/pool-options.ts';
import { HsmUnavailable } from '../errors.ts';
import { LogBudget } from '../limits/log-budget.ts';
import type { PinData } from '../processor-kit/processor.ts';
import type { EnteredPin } from '../transactions/ports/pin-ports.ts';
import type { Clock } from '../transactions/ports/process-ports.ts';
import type { ProcessorKey } from './ports.ts';
import { type PinTranslation, type SwitchPinKey, translatePin } from './translate-pin.ts';
import { isTimeout, within } from './within.ts';

/**
 * An HSM needs milliseconds. Three seconds leave most of `ANSWER_SLACK_SECONDS`, and the cardholder is still at the
 * till.
 */
const LIMIT_MS = 3_000;
/** Concurrent translations for one switch: at 20 ms each, more than ten thousand PINs a second. */
const MOST_UNDER_WAY = 256;
const LINES_PER_SECOND = 1;

export interface PinTranslatorOptions extends ProcessorKey {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Pick<ConnectionLog, 'warn'>;
  readonly limitMs?: number | undefined;
}

/**
 * Translates the PINs of one switch, each within a limit. An HSM that hangs delays only its own taps, by a few
 * seconds.
 */
export class PinTranslator {
  readonly #options: PinTranslatorOptions;
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  #underWay = 0;

  constructor(options: PinTranslatorOptions) {
    this.#options = options;
  }

  /**
   * @throws HsmUnavailable if the HSM does not respond in time or too many translations wait for it; else as
   * `translatePin`
   */
  async translate(pins: PinTranslation, key: SwitchPinKey, pin: EnteredPin, pan: string): Promise<PinData> {
    if (this.#underWay >= MOST_UNDER_WAY) throw this.#unavailable('BUSY');
    this.#underWay++;
    try {
      return await within(this.#options.limitMs ?? LIMIT_MS, translatePin(pins, key, pin, pan));
    } catch (cause) {
      throw isTimeout(cause) ? this.#unavailable('TIMEOUT', cause) : cause;
    } finally {
      this.#underWay--;
    }
  }

  #unavailable(code: string, cause?: unknown): HsmUnavailable {
    const { acquirerId, processorId, clock, log } = this.#options;
    this.#budget.spend(clock.monotonicMs(), (suppressed) =>
      log.warn({ acquirerId, processorId, code, suppressed }, 'PIN translation failed, tap not sent'),
    );
    return new HsmUnavailable({ cause });
  }
}
