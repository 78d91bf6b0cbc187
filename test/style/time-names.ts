/**
 * The rule for names of times: an instant ends in `AtMs`, a duration in `Ms` or `Seconds`. The unit prevents that
 * milliseconds are compared with seconds, and `At` that an instant is used as a duration.
 *
 * The check reads text, not types. It finds numbers called `…At`, a reading of a clock that is stored in or compared
 * with a name without `AtMs`, and numbers called `…Timeout`, `…Delay` and so on without a unit. It cannot find an
 * instant that reaches a name through a call.
 */

/** Names that break the rule, with the reason. */
const EXCEPTIONS: ReadonlySet<string> = new Set([
  'lookedAt', // a count in the published JSON of a load test: "looked at"
  'retryDelay', // an option of pg-boss, in seconds
  'connectionsCheckingInterval', // an option of node:http
  'tcp_keepalives_interval', // settings of Postgres
  'tcp_user_timeout',
]);

/** A present time; it has no `At`, because a clock reports it. */
const NOW = /^#?(?:\w*now|monotonic)Ms$/i;

/** A reading of a clock, at the start of an expression. */
const READING = String.raw`(?:[\w.#]*\b(?:nowMs|monotonicMs)\(\)|Date\.now\(\)|performance\.now\(\))`;
/** The same in a variable. */
const READ = String.raw`(?:${READING}|\b(?:nowMs|monotonicMs)\b)`;

const DURATION = `(?:timeout|delay|interval|duration|lifetime|elapsed|grace|patience|ttl)`;

interface Pattern {
  readonly pattern: RegExp;
  readonly isCorrect: (name: string) => boolean;
  readonly fault: string;
}

const never = () => false;
const isInstant = (name: string) => /AtMs$|^#?atMs$/.test(name) || NOW.test(name);

const PATTERNS: readonly Pattern[] = [
  {
    pattern: /(#?\b\w+At)\??: number\b/g,
    isCorrect: never,
    fault: 'is a number: an instant ends in AtMs, a position in Offset',
  },
  {
    // `startedMs = clock.nowMs()`, but not `tookMs = clock.nowMs() - startedAtMs`.
    pattern: new RegExp(String.raw`(#?\b\w+)(?: \?\?=| =|:) ${READING}(?! (?:-|[<>]))`, 'g'),
    isCorrect: isInstant,
    fault: 'contains a reading of a clock: an instant ends in AtMs',
  },
  {
    // `nowMs >= deadlineMs`, but not `nowMs - startedAtMs >= deadlineMs`.
    pattern: new RegExp(String.raw`(?<!- )${READ} [<>]=? (?:[\w!]+\.)*(#?[a-z]\w*)\b(?![.(])`, 'g'),
    isCorrect: isInstant,
    fault: 'is compared with a clock: an instant ends in AtMs',
  },
  {
    pattern: new RegExp(String.raw`(#?\b\w*${DURATION})\??(?:: number\b|(?::| =) \d[\d_]*\b(?!\.))`, 'gi'),
    isCorrect: never,
    fault: 'is a duration without a unit: it ends in Ms or Seconds',
  },
];

/** @returns each name in the code that breaks the rule, with the reason */
export function timeNameFaults(code: string): string[] {
  return PATTERNS.flatMap(({ pattern, isCorrect, fault }) =>
    [...code.matchAll(pattern)]
      .map(([, name]) => name!)
      .filter((name) => !EXCEPTIONS.has(name) && !isCorrect(name))
      .map((name) => `${name} ${fault}`),
  );
}
