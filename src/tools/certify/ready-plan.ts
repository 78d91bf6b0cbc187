import { stringify } from 'yaml';
import type { SampleCardName } from '../../card/sample-tap.ts';
import { messageRows } from '../../codecs/iso8583/describe.ts';
import { testPurchase } from '../../kits/processor-kit/conformance/check.ts';
import {
  type IsoMessage,
  type Processor,
  type Purchase,
  profileOf,
  type ReversalReason,
  type SimulatedResponse,
  type SwitchConfig,
  UNCERTAIN_CODES,
} from '../../kits/processor-kit/index.ts';
import { scenarioOf } from '../simulator/scenarios.ts';
import type { CertificationCase, Expectations } from './plan.ts';

type Draft = Omit<CertificationCase, 'number' | 'request' | 'response' | 'followUps'> &
  Partial<Pick<CertificationCase, 'request' | 'response' | 'followUps'>>;

const SCHEMES = { visa: 'Visa', mastercard: 'Mastercard', maestro: 'Maestro', amex: 'Amex' } as const;
const CARDS = Object.keys(SCHEMES) as SampleCardName[];
/** Of the simulated cards. */
const TEST_PIN = '12345';
/** The job of a reversal, a reconnect, and the delay on another connection. */
const REVERSAL_SLACK_SECONDS = 30;
const APPROVAL: SimulatedResponse = { responseCode: '00', authorizationCode: '831042' };

/**
 * The ready plan of a processor type, as YAML. Message types, fields, codes and outcomes are those that the processor
 * itself makes and reads, as those of the feature table are, so that the two agree. Amounts select the responses of
 * the simulated switch; change them to those that your host documents.
 */
export function readyPlan(processor: Processor, config: SwitchConfig = processor.exampleConfig): string {
  const made = new ReadyCases(processor, config).all();
  const plan = { name: `Ready plan of ${processor.name}`, type: processor.type, cases: made };
  return stringify(plan, {
    lineWidth: 0,
    aliasDuplicateObjects: false,
    defaultStringType: 'QUOTE_SINGLE',
    defaultKeyType: 'PLAIN',
  });
}

class ReadyCases {
  readonly #processor: Processor;
  readonly #config: SwitchConfig;
  readonly #cases: (Draft & { number: number })[] = [];

  constructor(processor: Processor, config: SwitchConfig) {
    this.#processor = processor;
    this.#config = config;
  }

  all(): readonly unknown[] {
    const { network, codes } = this.#profile;
    if (this.#config.signOn && network.signOn)
      this.#add({ title: 'Sign-on after the connection was lost', do: { network: 'signOn' }, response: {} });
    for (const card of CARDS) this.#addSale(card, '10.00', `${SCHEMES[card]} sale, approved`);
    for (const amount of ['0.01', '1.00', '999.00', '12345.00', '99999.00'])
      this.#addSale('visa', amount, `Sale of ${amount}`, amount === '0.01' ? '01' : '00');
    if (this.#config.pinKey && codes.pinRequired.length > 0) for (const card of CARDS) this.#addPin(card);
    for (let code = 1; code < 100; code++) {
      const text = String(code).padStart(2, '0');
      const scenario = scenarioOf(1_000 + code);
      const isKnown = UNCERTAIN_CODES.includes(text) || this.#outcomeOf('visa', text) !== 'Indeterminate';
      if (scenario.kind === 'response' && isKnown) this.#addSale('visa', `10.${text}`, `Response ${text}`, text);
    }
    for (const card of CARDS) this.#addSale(card, '10.51', `${SCHEMES[card]} sale, not enough funds`, '51');
    for (const card of ['visa', 'mastercard'] as const) {
      this.#addFaults(card);
      this.#addFollowing(card);
    }
    if (network.echo) this.#add({ title: 'Echo on an idle connection', do: { network: 'echo' } });
    if (network.cutOver) this.#addOfHost('cutOver', 'Cut-over', 'Have the host send its cut-over.');
    if (this.#config.keyExchange) this.#addOfHost('keyChange', 'Key change', 'Have the host announce a new key.');
    return this.#cases;
  }

  get #profile() {
    return profileOf(this.#processor, this.#config);
  }

  #add(draft: Draft): number {
    const number = this.#cases.length + 1;
    this.#cases.push({ number, ...draft });
    return number;
  }

  #addOfHost(network: 'cutOver' | 'keyChange', title: string, step: string): void {
    this.#add({ title, person: { step, limitSeconds: 600 }, do: { network } });
  }

  #addSale(card: SampleCardName, amount: string, title: string, code = '00'): number {
    const request = this.#sale(card, amount);
    const outcome = this.#outcomeOf(card, code);
    const isApproved = outcome === 'Approved';
    return this.#add({
      title,
      do: { tap: { card, amount, currency: 'ZAR' } },
      outcome,
      request: this.#expected((purchase) => this.#authorization(purchase, card, amount)),
      response: {
        ...this.#echoed(request),
        ...this.#codeOf(request, { responseCode: code }),
        ...(isApproved && { 38: { present: true } }),
      },
      // A host that booked nothing may respond that it finds no original.
      ...(outcome === 'Indeterminate' && {
        followUps: [{ ...this.#reversal(card, amount, 'unusable-response'), response: {} }],
      }),
      ...(isApproved && this.#completions()),
    });
  }

  #addPin(card: SampleCardName): void {
    const amount = '50.05';
    const request = this.#sale(card, amount);
    const asked = this.#processor.simulate(request, { responseCode: '55', asksForPin: true });
    this.#add({
      title: `${SCHEMES[card]} sale, the host requests a PIN`,
      do: { tap: { card, amount, currency: 'ZAR' } },
      outcome: 'PinRequired',
      response: this.#fieldsOf(asked, ['39']),
    });
    this.#add({
      title: `${SCHEMES[card]} sale with a PIN, approved`,
      do: { tap: { card, amount, currency: 'ZAR', pin: TEST_PIN } },
      outcome: 'Approved',
      request: { 52: { present: true } },
      response: this.#codeOf(request, APPROVAL),
      ...this.#completions(),
    });
  }

  #addFaults(card: SampleCardName): void {
    const amount = '20.00';
    const titles = {
      noAnswer: 'no response: reversal',
      late: 'a response after the deadline: reversal',
      cutLine: 'the connection is lost before the response: reversal',
      duplicate: 'the response arrives twice: approved once',
    } as const;
    for (const fault of ['noAnswer', 'late', 'cutLine', 'duplicate'] as const) {
      const isReversed = fault !== 'duplicate';
      this.#add({
        title: `${SCHEMES[card]} sale, ${titles[fault]}`,
        do: { tap: { card, amount, currency: 'ZAR' } },
        fault,
        outcome: isReversed ? 'Indeterminate' : 'Approved',
        ...(isReversed ? { followUps: [this.#reversal(card, amount, 'timeout')] } : this.#completions()),
      });
    }
  }

  #addFollowing(card: SampleCardName): void {
    const scheme = SCHEMES[card];
    const { refund } = this.#processor;
    const { amount } = testPurchase({ amount: amountOf('30.00') });
    if (refund)
      for (const part of ['30.00', '10.00']) {
        const of = this.#addSale(card, '30.00', `${scheme} sale to be refunded`);
        this.#add({
          title: `${scheme} refund of ${part}`,
          do: { refund: { of, amount: part } },
          outcome: 'Approved',
          request: this.#expected((purchase) => {
            const original = this.#processor.originalData(this.#authorization(purchase, card, '30.00'));
            const { stan, rrn, sentAtMs, localDateTime } = testPurchase(purchase);
            const stamp = { stan, rrn, sentAtMs, localDateTime };
            return refund({ original, amount: { ...amount, ...amountOf(part) }, ...stamp }, this.#config);
          }),
        });
      }
    const of = this.#addSale(card, '40.00', `${scheme} sale to be voided`);
    const { request, response } = this.#reversal(card, '40.00', 'void');
    this.#add({ title: `${scheme} void`, do: { void: { of } }, outcome: 'Voided', request, response });
  }

  #completions(): Partial<Draft> {
    const isWanted = this.#processor.completion?.isWanted(this.#config) === true;
    const completion = {
      kind: 'completion',
      withinSeconds: REVERSAL_SLACK_SECONDS,
      request: {},
      response: {},
    } as const;
    return isWanted ? { followUps: [completion] } : {};
  }

  #reversal(card: SampleCardName, amount: string, reason: ReversalReason): CertificationCase['followUps'][number] {
    const request = this.#expected((purchase) => this.#reversalOf(card, amount, reason, purchase));
    const sent = this.#reversalOf(card, amount, reason, {});
    const { deadlineMs, reversal } = this.#profile;
    const withinSeconds = Math.ceil(deadlineMs / 1_000) + reversal.overtakingGuardSeconds + REVERSAL_SLACK_SECONDS;
    return { kind: 'reversal', withinSeconds, request, response: this.#codeOf(sent, { responseCode: '00' }) };
  }

  #reversalOf(card: SampleCardName, amount: string, reason: ReversalReason, varied: Partial<Purchase>): IsoMessage {
    const original = this.#processor.originalData(this.#authorization(varied, card, amount));
    const { stan, sentAtMs, localDateTime } = testPurchase(varied);
    return this.#processor.reversal({ original, reason, attempt: 1, stan, sentAtMs, localDateTime }, this.#config);
  }

  #sale(card: SampleCardName, amount: string): IsoMessage {
    return this.#authorization({}, card, amount);
  }

  #authorization(varied: Partial<Purchase>, card: SampleCardName, amount: string): IsoMessage {
    const purchase = testPurchase({ ...varied, scheme: SCHEMES[card], amount: amountOf(amount) });
    return this.#processor.authorization(purchase, this.#config);
  }

  #outcomeOf(card: SampleCardName, responseCode: string): CertificationCase['outcome'] {
    const request = this.#sale(card, '10.00');
    const response = this.#processor.simulate(request, { ...APPROVAL, responseCode });
    const { kind } = this.#processor.readOutcome(response, request);
    return (
      { approved: 'Approved', declined: 'Declined', pinRequired: 'PinRequired', unknown: 'Indeterminate' } as const
    )[kind];
  }

  /** DE39 of the response, in the codes of the switch. */
  #codeOf(request: IsoMessage, response: SimulatedResponse): Expectations {
    return this.#fieldsOf(this.#processor.simulate(request, response), ['mti', '39']);
  }

  #fieldsOf(message: IsoMessage, paths: readonly string[]): Expectations {
    const rows = messageRows(this.#processor.spec, message).filter(({ path }) => paths.includes(path));
    return Object.fromEntries(rows.map(({ path, value }) => [path, path === 'mti' ? message.mti : value]));
  }

  /** STAN and RRN return as they were sent. */
  #echoed(request: IsoMessage): Expectations {
    const number = this.#cases.length + 1;
    const response = messageRows(this.#processor.spec, this.#processor.simulate(request, APPROVAL));
    const shown = response.filter(({ path, withheld }) => ['11', '37'].includes(path) && !withheld);
    return Object.fromEntries(
      shown.map(({ path }) => [path, { sameAs: { case: number, message: 'request' as const, field: path } }]),
    );
  }

  /**
   * The fields of a message that the processor builds: exact where two different purchases give the same value that
   * may be shown, otherwise present.
   */
  #expected(build: (purchase: Partial<Purchase>) => IsoMessage): Expectations {
    const [one, other] = [build({}), build(OTHER_PURCHASE)].map((message) =>
      messageRows(this.#processor.spec, message).map((row) =>
        row.path === 'mti' ? { ...row, value: message.mti } : row,
      ),
    );
    const top = one!.filter(({ depth, path }) => depth === 0 && path !== 'header');
    return Object.fromEntries(
      top.map(({ path, value, type, withheld }) => {
        const isFixed = other!.find((row) => row.path === path)?.value === value;
        const isText = path === 'mti' || /^(?:n|a|an|ans) /.test(type);
        return [path, isFixed && isText && !withheld ? value : { present: true as const }];
      }),
    );
  }
}

/** Differs from `testPurchase` in everything that differs between two sales of the same card and amount. */
const OTHER_PURCHASE: Partial<Purchase> = {
  stan: '654321',
  rrn: '999987654321',
  sentAtMs: Date.UTC(2027, 4, 3, 9, 21, 47),
  localDateTime: '20270503112147',
  terminal: { tid: 'OTHER002', mid: 'OTHERMERCHANT02', canTakePin: true },
  merchant: { name: 'Another', city: 'Durban', country: 'ZA', mcc: '5999' },
};

function amountOf(amount: string) {
  return { amountMinor: Math.round(Number(amount) * 100), currency: 'ZAR', currencyNumeric: '710' };
}
