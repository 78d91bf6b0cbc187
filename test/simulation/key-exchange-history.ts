import type { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { WorkingKeyUse } from '../../src/kits/processor-kit/processor.ts';
import { keyExchangeConfig } from '../../src/kits/processor-kit/switch-config.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { postgresExchangedKeys } from '../../src/store/switches/exchanged-keys.ts';
import { KeyExchange } from '../../src/switching/switches/key-exchange.ts';
import type { ExchangedKeys } from '../../src/switching/switches/ports.ts';
import { type UsableKey, WorkingKeys } from '../../src/switching/switches/working-keys.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';
import { type Habits, KeysOfSwitch, OVERLAP_MS, type SwitchKey, USES } from './keys-of-switch.ts';

const type1 = (await loadProcessors()).get('type-1')!;
const keyChange = type1.keyChange!;

/** A PIN leaves so long after its key was chosen: less than the 8 s that the gateway allows. */
const PIN_WAITS_MS = 6_000;

interface SlowPin {
  readonly keys: WorkingKeys;
  readonly key: UsableKey;
  readonly leavesAtMs: number;
}

/** A response to an announcement. */
interface Response {
  readonly worker: Worker;
  readonly epoch: number;
  readonly key: SwitchKey;
  readonly code: string;
}

export class History {
  readonly database: Database;
  readonly where: { readonly acquirerId: number; readonly processorId: number };
  readonly config;
  readonly violations: string[] = [];
  readonly log: string[] = [];
  readonly keysOfSwitch: KeysOfSwitch;
  readonly switchHsm: SoftHsm;
  readonly #random;
  /** Check values that have reached the database. */
  readonly reached = new Set<string>();
  workers: Worker[] = [];
  /** Whether processes are held and die, connections are lost, and the switch refuses. */
  isWild = true;
  /** Whether the switch refuses each request for a key. */
  isSwitchRefusing = false;
  #aheadMs = 0;
  #made = 0;
  /** Responses on their way to the switch. */
  #wire: Response[] = [];
  readonly #tasks = new Set<Promise<unknown>>();

  /** Whether a PIN may wait under the key that it was translated to. */
  readonly mayPinsWait: boolean;

  constructor(database: Database, seed: number, startedBy: 'us' | 'switch', habits: Habits) {
    this.database = database;
    this.#random = seededRandom(seed);
    this.where = { acquirerId: 1, processorId: seed };
    this.keysOfSwitch = new KeysOfSwitch(habits, this.nowMs);
    this.mayPinsWait = habits.pinOverlapMs > 0;
    const keyExchange = keyExchangeConfig.parse({
      ...{ transportKeyId: 'zmk', keys: USES, startedBy, overlapSeconds: OVERLAP_MS / 1_000, maxAgeSeconds: 60 },
    });
    const pinKey = { keyId: 'first-pin', format: 0, derivation: 'zone' } as const;
    this.config = { ...type1.exampleConfig, macKeys: [{ number: 1, keyId: 'first-mac' }], pinKey, keyExchange };
    this.switchHsm = demoHsm([this.config], 'dev');
  }

  nowMs = () => performance.now() + this.#aheadMs;

  happens(probability: number): boolean {
    return this.#random.next() < probability;
  }

  oneOf<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random.next() * values.length)]!;
  }

  /** Runs something that a process that dies does not end. */
  run(worker: Worker, task: Promise<unknown>): void {
    const ended = Promise.race([task.catch((error) => this.log.push(`error ${error}`)), worker.died]).finally(() =>
      this.#tasks.delete(ended),
    );
    this.#tasks.add(ended);
  }

  /** The database also ends what a process that has died began. */
  stored<Value>(storing: Promise<Value>): Promise<Value> {
    const ended: Promise<unknown> = storing.catch(() => {}).finally(() => this.#tasks.delete(ended));
    this.#tasks.add(ended);
    return storing;
  }

  /** Lets everything that is under way end, except that no response reaches the switch. */
  async rest(): Promise<void> {
    do {
      for (const worker of this.workers) worker.release();
      await Promise.race([Promise.all(this.#tasks), new Promise((resolve) => setImmediate(resolve))]);
    } while (this.#tasks.size > 0);
  }

  /** Lets everything that is under way end. */
  async settle(): Promise<void> {
    do {
      this.deliverAll();
      await this.rest();
    } while (this.#wire.length > 0);
  }

  /** Everything that is stored happened earlier, and the clock of the processes is ahead. */
  async letPass(seconds: number): Promise<void> {
    for (let left = seconds; left > 0; left -= 2) {
      await this.settle();
      this.#aheadMs += 2_000;
      const by = `interval '2 s'`;
      const of = 'where processor_id = $1';
      for (const statement of [
        `update exchanged_keys set announced_at = announced_at - ${by}, acknowledged_at = acknowledged_at - ${by},
          retires_at = retires_at - ${by} ${of}`,
        `update replaced_keys set retires_at = retires_at - ${by} ${of}`,
        `update key_requests set asked_until = asked_until - ${by} ${of}`,
      ])
        await this.database.query(statement, [this.where.processorId]);
      this.sendAll();
      for (const worker of this.workers) worker.follow();
      await this.settle();
      this.sendAll();
      for (const worker of this.workers) worker.prepareSlowPin();
    }
  }

  /** Each process sends what it can at this moment. */
  sendAll(): void {
    for (const worker of this.workers) {
      worker.sendPinNow();
      worker.sendSlowPins();
      worker.sendMac();
    }
  }

  async announce(use: WorkingKeyUse, worker: Worker): Promise<SwitchKey> {
    const number = (this.#made++ % 97) + 2;
    const made = await this.switchHsm.generateKey({
      ...{ keyId: `made-${this.#made}`, usage: use, algorithm: 'tdes', lengthBytes: 16, transportKeyId: 'zmk' },
    });
    if (!('cryptogram' in made)) throw new Error('no cryptogram');
    const wrapped = { use, number, wrapped: { cryptogram: made.cryptogram }, kcv: made.kcv };
    const announcement = keyChange.announcement(wrapped, { stan: '900000', sentAtMs: 0 }, this.config);
    const key: SwitchKey = {
      ...{ use, name: made.kcv, announcement, announcedAtMs: this.nowMs() },
      ...{ hasResponded: false, mayStayUnknown: false, validUntilMs: Number.POSITIVE_INFINITY },
    };
    this.keysOfSwitch.keys.push(key);
    this.log.push(`announce ${use} ${key.name} to ${worker.name}`);
    this.run(worker, worker.take(announcement, key));
    return key;
  }

  /**
   * An attacker repeats what the switch once announced; the switch sees no response. Only a key that has reached the database
   * can be recognized: an announcement whose process died before that is a new one to the gateway.
   */
  replay(worker: Worker): void {
    const announced = this.keysOfSwitch.keys.filter(({ announcement, name }) => announcement && this.reached.has(name));
    if (announced.length === 0) return;
    this.replayKey(this.oneOf(announced), worker);
  }

  replayKey(key: SwitchKey, worker: Worker): void {
    this.log.push(`replay ${key.use} ${key.name} to ${worker.name}`);
    key.mayStayUnknown = true; // the gateway cannot tell this from the switch, which missed the first response
    this.run(worker, worker.take(key.announcement!, undefined));
  }

  send(response: Response): void {
    this.#wire.push(response);
  }

  /** The keys whose responses of this worker are on their way. */
  unheard(worker: Worker): readonly SwitchKey[] {
    return this.#wire.filter((response) => response.worker === worker).map(({ key }) => key);
  }

  /** Responses arrive one after another in any order, because they are on several connections. */
  deliver(): void {
    this.#arrive(this.#wire.splice(Math.floor(this.#random.next() * this.#wire.length), 1));
  }

  deliverAll(): void {
    this.#arrive(this.#wire.splice(0));
  }

  /** The responses overtake each other on several connections. */
  deliverLastFirst(): void {
    this.#arrive(this.#wire.splice(0).toReversed());
  }

  #arrive(responses: readonly Response[]): void {
    for (const { worker, epoch, key, code } of responses) {
      if (worker.epoch !== epoch) continue; // lost with its connection
      this.log.push(`response ${code} to ${key.use} ${key.name}`);
      this.keysOfSwitch.takeResponse(key, code);
    }
  }

  judge(worker: Worker, use: WorkingKeyUse, name: string | undefined): void {
    if (name === undefined || this.keysOfSwitch.has(use, name)) return;
    this.violations.push(`${worker.name} sent a ${use} under ${name}`);
    this.log.push(this.violations.at(-1)!);
  }

  async act(): Promise<void> {
    const worker = this.oneOf(this.workers);
    const use = this.oneOf(USES);
    const which = Math.floor(this.#random.next() * 16);
    if (worker.isDead) return worker.start();
    if (which === 15) worker.isCutOff = !worker.isCutOff && this.happens(0.5);
    if (which === 14) worker.diesBeforeRecord = true;
    if (which === 13) this.isSwitchRefusing = !this.isSwitchRefusing && this.happens(0.5);
    if (which > 10) return this.letPass(this.oneOf([2, 6, 16, 30]));
    if (which < 2) return void (await this.announce(use, worker));
    if (which === 2) return this.replay(worker);
    if (which === 3) return worker.loseConnection();
    if (which === 4) return this.letPass(this.oneOf([2, 2, 4, 6, 10, 30]));
    if (which === 5) return this.deliver();
    if (which === 6) return worker.die();
    if (which === 7) worker.isHsmRefusing = !worker.isHsmRefusing && this.happens(0.5);
    if (which === 8) return worker.follow();
    if (which === 9 && this.mayPinsWait) return void this.run(worker, worker.sendPin());
    worker.sendMac();
    worker.release();
  }

  /** Nothing goes wrong, and in the end each process has a key for both kinds of messages. */
  async recover(): Promise<boolean> {
    this.isWild = false;
    this.isSwitchRefusing = false;
    for (let round = 0; round < 40; round++) {
      for (const worker of this.workers) {
        worker.isHsmRefusing = false;
        worker.isCutOff = false;
        worker.diesBeforeRecord = false;
        if (worker.isDead) await worker.start();
      }
      await this.letPass(2);
      if (this.workers.every((worker) => worker.isWorking)) return true;
    }
    return false;
  }
}

/** A process with one connection to the switch. */
export class Worker {
  readonly name: string;
  readonly #history: History;
  isDead = true;
  isHsmRefusing = false;
  /** Whether its reads of the database fail. */
  isCutOff = false;
  /** Whether it dies when the switch has its next response, and the database does not know. */
  diesBeforeRecord = false;
  isReady = false;
  epoch = 0;
  died: Promise<void> = Promise.resolve();
  #die: () => void = () => {};
  #held: (() => void)[] = [];
  #life = 0;
  /** Keys whose responses were lost with a connection. */
  #lost: SwitchKey[] = [];
  /** PINs that wait for a slot. */
  #slowPins: SlowPin[] = [];
  keys: WorkingKeys | undefined;
  exchange: KeyExchange | undefined;

  constructor(name: string, history: History) {
    this.name = name;
    this.#history = history;
  }

  async start(): Promise<void> {
    const { history } = this;
    const life = ++this.#life;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.died = promise;
    this.#die = resolve;
    this.isDead = false;
    history.log.push(`start ${this.name}`);
    const hsm = demoHsm([history.config], 'dev');
    const importKey = hsm.importKey.bind(hsm);
    hsm.importKey = async (request) => {
      await this.step(life);
      if (this.isHsmRefusing) throw new Error('the HSM refuses');
      return importKey(request);
    };
    const { where, config } = history;
    const shared = { where, kept: this.#keptFor(life), monotonicMs: history.nowMs };
    const opening = (async () => {
      const keys = await WorkingKeys.open({ ...shared, processor: type1, config, hsm, onError: () => {} });
      if (life !== this.#life || this.isDead) return;
      this.keys = keys;
      this.exchange = new KeyExchange({
        ...shared,
        ...{ keys, config, keyChange },
        isAccepted: (response) => type1.isNetworkAccepted(response),
        nextStamp: () => ({ stan: '000001', sentAtMs: 0 }),
        log: { info: () => {}, warn: () => {} },
        times: { followEveryMs: 2_000_000_000, exchangeMs: 150 },
      });
      this.signOn();
    })();
    const startingOrDead = opening.catch(() => {
      if (life === this.#life && !this.isDead) this.die(); // it cannot read the keys
    });
    history.run(this, startingOrDead);
  }

  get history(): History {
    return this.#history;
  }

  /** In front of and behind everything that others can see: the process may be held there, or die. */
  async step(life: number): Promise<void> {
    if (life !== this.#life || this.isDead) return new Promise(() => {});
    if (!this.history.isWild || this.history.happens(0.8)) return;
    if (this.history.happens(0.3)) {
      this.die();
      return new Promise(() => {});
    }
    await new Promise<void>((resolve) => this.#held.push(resolve));
    if (life !== this.#life || this.isDead) return new Promise(() => {});
  }

  release(): void {
    for (const resolve of this.#held.splice(0)) resolve();
  }

  die(): void {
    this.history.log.push(`die ${this.name}`);
    this.isDead = true;
    this.isReady = false;
    if (this.history.happens(0.5)) this.#loseResponses(); // what it has written may arrive
    for (const key of this.#lost.splice(0)) key.mayStayUnknown = true;
    this.#slowPins = [];
    this.exchange?.close();
    [this.keys, this.exchange] = [undefined, undefined];
    this.#held = [];
    this.#die();
  }

  #keptFor(life: number): ExchangedKeys {
    const kept = postgresExchangedKeys(this.history.database);
    const stepped =
      <Question extends unknown[], Value>(act: (...question: Question) => Promise<Value>) =>
      async (...question: Question): Promise<Value> => {
        await this.step(life);
        const value = await this.history.stored(act(...question));
        await this.step(life);
        return value;
      };
    const acknowledge = stepped(kept.acknowledge);
    return {
      read: stepped((where) => (this.isCutOff ? Promise.reject(new Error('cut off')) : kept.read(where))),
      keep: stepped((where, key) => kept.keep(where, key).finally(() => this.history.reached.add(key.kcv))),
      refuse: stepped((where, key) => kept.refuse(where, key).finally(() => this.history.reached.add(key.kcv))),
      acknowledge: (where, key, options) => {
        if (!this.diesBeforeRecord) return acknowledge(where, key, options);
        this.diesBeforeRecord = false;
        this.history.deliverAll();
        this.die();
        return new Promise(() => {});
      },
      claim: stepped(kept.claim),
      release: stepped(kept.release),
    };
  }

  get #line() {
    const { history, epoch } = this;
    return {
      connectionId: `${this.name} ${this.#life} ${epoch}`,
      exchange: async (request: IsoMessage): Promise<IsoMessage> => {
        if (epoch !== this.epoch) throw new Error('the connection is lost');
        const use = keyChange.readUse(request)!;
        history.log.push(`request ${use} by ${this.name}`);
        if (history.isSwitchRefusing || (history.isWild && history.happens(0.2)))
          return keyChange.response(request, '91');
        const live = history.workers.filter(({ isDead, exchange }) => !isDead && exchange);
        const to = history.isWild && history.happens(0.3) ? history.oneOf(live) : this;
        setTimeout(() => void (to.isDead || history.announce(use, to)), 1);
        return keyChange.response(request, '00');
      },
    };
  }

  signOn(): void {
    const { exchange, epoch } = this;
    if (!exchange) return;
    const signingOn = exchange.afterSignOn(this.#line, undefined).then((isReady) => {
      if (this.exchange === exchange && this.epoch === epoch) this.isReady = isReady;
    });
    this.history.run(this, signingOn);
  }

  loseConnection(): void {
    this.history.log.push(`lose the connection of ${this.name}`);
    const { connectionId } = this.#line;
    this.#loseResponses();
    this.isReady = false;
    this.exchange?.forget(connectionId);
    this.signOn();
  }

  #loseResponses(): void {
    this.#lost.push(...this.history.unheard(this));
    this.epoch++;
  }

  /** What its timer does. */
  follow(): void {
    const { keys } = this;
    if (!keys) return;
    const following = keys.refresh().then(() => this.signOn());
    this.history.run(this, following);
  }

  async take(announcement: IsoMessage, key: SwitchKey | undefined): Promise<void> {
    const { exchange, epoch } = this;
    const life = this.#life;
    if (!exchange) return;
    const { responseCode, whenResponded } = await exchange.takeAnnouncement(announcement, this.#line);
    await this.step(life);
    if (responseCode === undefined) return;
    const isSent = this.epoch === epoch;
    if (isSent && key) this.history.send({ worker: this, epoch, key, code: responseCode });
    await this.step(life);
    whenResponded?.(isSent);
  }

  async sendPin(): Promise<void> {
    const { exchange, keys } = this;
    const key = pinKeyOf(exchange);
    if (!exchange || !keys || key === undefined) return;
    await this.step(this.#life);
    for (let gate = exchange.pinGate; gate; gate = exchange.pinGate) await gate;
    if (this.isDead || !keys.isAccepted('pin', key === 'configured' ? 'first-pin' : key.keyId)) return;
    this.history.judge(this, 'pin', key === 'configured' ? key : key.kcv);
  }

  sendPinNow(): void {
    const key = this.exchange?.pinGate ? undefined : pinKeyOf(this.exchange);
    this.history.judge(this, 'pin', key === 'configured' ? key : key?.kcv);
  }

  /** A PIN is translated, and waits for a slot. */
  prepareSlowPin(): void {
    const { keys, history } = this;
    const key = history.mayPinsWait && !this.exchange?.pinGate ? pinKeyOf(this.exchange) : undefined;
    if (keys && key) this.#slowPins.push({ keys, key, leavesAtMs: history.nowMs() + PIN_WAITS_MS });
  }

  sendSlowPins(): void {
    if (this.exchange?.pinGate) return;
    const nowMs = this.history.nowMs();
    const leaving = this.#slowPins.filter(({ leavesAtMs }) => leavesAtMs <= nowMs);
    this.#slowPins = this.#slowPins.filter(({ leavesAtMs }) => leavesAtMs > nowMs);
    for (const { keys, key } of leaving) {
      if (!keys.isAccepted('pin', key === 'configured' ? 'first-pin' : key.keyId)) continue;
      this.history.judge(this, 'pin', key === 'configured' ? key : key.kcv);
    }
  }

  sendMac(): void {
    const keyId = this.isReady ? this.keys?.maker(false)?.keyId : undefined;
    const exchanged = this.keys?.live.find((key) => key.keyId === keyId);
    if (keyId !== undefined) this.history.judge(this, 'mac', exchanged?.kcv ?? 'configured');
  }

  /** Whether it can send both kinds of messages, and the switch knows that it has their keys. */
  get isWorking(): boolean {
    const { keysOfSwitch } = this.#history;
    const isKnown = (use: WorkingKeyUse) => {
      const key = this.keys?.usable(use);
      return key !== undefined && keysOfSwitch.knows(use, key === 'configured' ? key : key.kcv);
    };
    return this.isReady && USES.every(isKnown);
  }
}

function pinKeyOf(exchange: KeyExchange | undefined) {
  try {
    return exchange?.pinKey();
  } catch {
    return undefined;
  }
}
