/** What is run to find a mutation. */
export type Hunt =
  /** The exploration of some cases, to this depth in events. */
  | { readonly by: 'exploration'; readonly cases: readonly string[]; readonly depth: number }
  /** This number of random histories. */
  | { readonly by: 'histories'; readonly count: number }
  /** The comparison of the simulation's store with Postgres, for guards in SQL. */
  | { readonly by: 'comparison with Postgres' }
  /** Histories of key exchanges, which the switch judges. */
  | { readonly by: 'histories of keys' }
  /** A test of its own, for what neither simulates. */
  | { readonly by: 'test'; readonly file: string };

/** A change of one file. */
export interface Edit {
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly before: string;
  readonly after: string;
}

/** The gateway, broken on purpose in one place. */
export interface Mutation extends Edit {
  readonly name: string;
  /** What must be broken as well, because it would find the mutation at the start, or prevent its harm alone. */
  readonly also?: readonly Edit[];
  /** The resulting fault of the gateway. */
  readonly meaning: string;
  readonly hunt: Hunt;
}

export interface Verdict {
  readonly mutation: Mutation;
  /** `missing`: the text to replace is not in the file, or more than once. */
  readonly outcome: 'caught' | 'survived' | 'missing';
  /** The shortest history, or other evidence. */
  readonly evidence: string;
  readonly seconds: number;
}

/** The row of a mutation in the table of test/README.md. */
export function tableRow({ name, meaning, hunt }: Mutation): string {
  return `| \`${name}\` | ${meaning} | ${hunt.by === 'test' ? `\`${hunt.file.replace(/^test\//, '')}\`` : hunt.by} |`;
}
