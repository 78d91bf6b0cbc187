/** What is run to find a mutation. */
export type Hunt =
  /** The exploration of some cases, so many events deep. */
  | { readonly by: 'exploration'; readonly cases: readonly string[]; readonly depth: number }
  /** So many histories by random. */
  | { readonly by: 'histories'; readonly count: number }
  /** The comparison of the store of the simulation with Postgres: guards in SQL. */
  | { readonly by: 'comparison with Postgres' }
  /** A test of its own: what neither simulates. */
  | { readonly by: 'test'; readonly file: string };

/** The gateway broken on purpose, in one place. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly before: string;
  readonly after: string;
  /** What the gateway does wrongly then. */
  readonly meaning: string;
  readonly hunt: Hunt;
}

export interface Verdict {
  readonly mutation: Mutation;
  /** `missing`: the text to be replaced is not in the file, or more than once. */
  readonly outcome: 'caught' | 'survived' | 'missing';
  /** The shortest history, or what else shows it. */
  readonly evidence: string;
  readonly seconds: number;
}

/** The row of a mutation in the table of test/README.md. */
export function tableRow({ name, meaning, hunt }: Mutation): string {
  return `| ${name} | ${meaning} | ${hunt.by === 'test' ? `\`${hunt.file.replace(/^test\//, '')}\`` : hunt.by} |`;
}
