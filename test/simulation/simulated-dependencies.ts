import { SealError } from '../../src/basics/errors.ts';
import type { OriginalData } from '../../src/kits/processor-kit/processor.ts';
import type { OriginalConnections } from '../../src/payments/model/switch-revision.ts';
import { LONGEST_DEADLINE_SECONDS } from '../../src/payments/model/time-limits.ts';
import type { TransactionStore } from '../../src/payments/ports/store-ports.ts';
import type { PinRequest, Switches } from '../../src/payments/ports/switch-ports.ts';
import type { Alarms, TransactionDependencies, Wakeups } from '../../src/payments/ports/transaction-dependencies.ts';
import { UNOBSERVED } from '../support/unobserved.ts';
import type { MemoryCompletions } from './memory-completions.ts';
import type { MemoryLinks } from './memory-links.ts';
import { MemoryRefunds } from './memory-refunds.ts';
import type { MemoryStore } from './memory-store.ts';
import { DIRECTORY, KEPT, TAP } from './simulated-tenant.ts';

/**
 * How a simulated process accesses its database: each effect may be delayed, fail, or be the last one of the process.
 */
export interface Effects {
  read<T>(what: string, read: () => T): Promise<T>;
  commit<T>(what: string, write: () => T): Promise<T>;
}

/** The parts of the dependencies besides the store. */
export interface DependencyParts {
  readonly effects: Effects;
  readonly store: MemoryStore;
  readonly links: MemoryLinks;
  readonly completions: MemoryCompletions;
  readonly clock: TransactionDependencies['clock'];
  readonly newId: () => string;
  readonly pinSeconds: number;
  readonly moved: Wakeups['moved'];
  readonly announce?: Wakeups['announce'];
  readonly originals: OriginalConnections;
  readonly alarms: Alarms;
  readonly reverseAhead: TransactionDependencies['reverseAhead'];
  readonly switches: Switches;
  /** Whether the key that seals the cards is missing. */
  readonly isKeyLost?: () => boolean;
}

/** The dependencies of one simulated process: the unchanged use cases, with the simulation's store. */
export function simulatedDependencies(parts: DependencyParts): TransactionDependencies {
  const { effects, store, clock, newId, pinSeconds, moved, announce = () => {}, originals, alarms } = parts;
  return {
    clock,
    newId,
    directory: DIRECTORY,
    cardData: {
      open: async () => TAP,
      reportCopy: () => {},
      fingerprint: fingerprintOf,
      isFingerprintOf: (fingerprint, request) => fingerprint === fingerprintOf(request),
    },
    vault: vaultOf(parts.isKeyLost),
    longestDeadlineSeconds: () => LONGEST_DEADLINE_SECONDS,
    store: storeOf(effects, store, parts.links),
    links: linksOf(effects, parts.links),
    completions: completionsOf(effects, parts.completions),
    refunds: refundsOf(effects, new MemoryRefunds(store)),
    pinTokens: { issue: async () => 'token', check: async () => 'good' },
    readerPins: { keyId: 'reader', format: 0 },
    pinSeconds,
    observer: UNOBSERVED,
    wakeups: { moved, announce, announceWork: () => {} },
    originals,
    alarms,
    reverseAhead: parts.reverseAhead,
    path: { kind: 'direct', switches: parts.switches },
  } satisfies Partial<TransactionDependencies> as Partial<TransactionDependencies> as TransactionDependencies;
}

/** A seal is a key to its content: nothing else of it is simulated. */
const SEALED = new WeakMap<Uint8Array, OriginalData>();

function vaultOf(isKeyLost: () => boolean = () => false): TransactionDependencies['vault'] {
  return {
    seal: (id, { original }) => {
      const sealed = Buffer.from(id);
      SEALED.set(sealed, original);
      return sealed;
    },
    open: (_id, sealed) => {
      if (isKeyLost()) throw new SealError('KEY_GONE');
      return { ...KEPT, original: SEALED.get(sealed)! };
    },
    hashPan: () => 'hash',
    isHashOf: () => true,
    usesOf: () => [],
  } satisfies Partial<TransactionDependencies['vault']> as Partial<
    TransactionDependencies['vault']
  > as TransactionDependencies['vault'];
}

function storeOf(effects: Effects, store: MemoryStore, links: MemoryLinks): TransactionStore {
  return {
    insert: (attempt) => effects.commit('insert', () => links.insert(attempt)),
    retry: (attempt) => effects.commit('retry', () => links.retry(attempt)),
    submitPin: (attempt) => effects.commit('submitPin', () => store.submitPin(attempt)),
    expirePin: (expiry) => effects.commit('expirePin', () => store.expirePin(expiry)),
    submit: (submission) => effects.commit('submit', () => store.submit(submission)),
    recordDecision: (decision) => effects.commit('decision', () => store.recordDecision(decision)),
    recordOverdueResponse: (response) => effects.commit('recordOverdueResponse', () => store.recordResponse(response)),
    recordResponse: (response) =>
      void effects.commit('recordResponse', () => store.recordResponse(response)).catch(() => {}),
    stepReversal: (step) => effects.commit('stepReversal', () => store.stepReversal(step)),
    recordLate: (record) => effects.commit('recordLate', () => store.recordLate(record)),
    areUsed: () => Promise.resolve(false),
    find: (key) => effects.read('find', () => store.find(key)),
    findByReference: (acquirerId, merchantId, reference) =>
      effects.read('findByReference', () => store.findByReference(reference, { acquirerId, merchantId })),
    findHandover: () => Promise.resolve(undefined),
    findOriginalFacts: (transaction) => effects.read('findOriginalFacts', () => store.findOriginalFacts(transaction)),
    findRequest: (key) => effects.read('findRequest', () => store.findRequest(key)),
    findRequestsOfResponses: (responses) =>
      effects.read('findRequestsOfResponses', () => store.findRequestsOfResponses(responses)),
    findApproved: (responses) => effects.read('findApproved', () => store.findApproved(responses)),
    findReversals: (responses) => effects.read('findReversals', () => store.findReversals(responses)),
  };
}

function refundsOf(effects: Effects, refunds: MemoryRefunds): TransactionDependencies['refunds'] {
  return {
    reserve: (refund) => effects.commit('reserve', () => refunds.reserve(refund)),
    isSettled: () => effects.read('isSettled', () => false),
    findObstacle: (sale) =>
      effects.read('findObstacle', () => (refunds.isBlocked(sale) ? ('inReview' as const) : undefined)),
    startVoid: (wanted) => effects.commit('startVoid', () => refunds.startVoid(wanted)),
    findVoid: (sale) => effects.read('findVoid', () => refunds.findVoid(sale)),
    acknowledge: (record) => effects.commit('acknowledge', () => refunds.acknowledge(record)),
  };
}

/** The part that payment apps use. */
function linksOf(effects: Effects, links: MemoryLinks): TransactionDependencies['links'] {
  return {
    find: (key) => effects.read('find link', () => links.find(key)),
    findNamed: (_acquirer, _merchant, reference) => effects.read('findNamed', () => links.findNamed(reference)),
    moveTo: (key, state) => effects.commit('moveTo', () => links.moveTo(key, state)),
    isUnused: (_link, reference) => effects.read('isUnused', () => links.isUnused(reference)),
  } satisfies Partial<TransactionDependencies['links']> as Partial<
    TransactionDependencies['links']
  > as TransactionDependencies['links'];
}

function completionsOf(effects: Effects, completions: MemoryCompletions): TransactionDependencies['completions'] {
  return {
    begin: (sale, seconds) => effects.commit('begin completion', () => completions.begin(sale, seconds)),
    end: (sale) => effects.commit('end completion', () => completions.end(sale)),
    giveUp: (sale, nowMs) => effects.commit('give up completion', () => completions.giveUp(sale, nowMs)),
  };
}

function fingerprintOf({ paymentCardData, pinBlock = '' }: Partial<PinRequest>): string {
  return `${paymentCardData} ${pinBlock}`;
}
