import type { Mutation } from './mutation.ts';
import { MUTATIONS_OF_BOOKS } from './mutations-of-books.ts';
import { MUTATIONS_OF_DECISIONS } from './mutations-of-decisions.ts';
import { MUTATIONS_OF_GUARDS } from './mutations-of-guards.ts';
import { MUTATIONS_OF_KEYS } from './mutations-of-keys.ts';
import { MUTATIONS_OF_REVERSALS } from './mutations-of-reversals.ts';
import { MUTATIONS_OF_SURROUNDINGS } from './mutations-of-surroundings.ts';

export const MUTATIONS: readonly Mutation[] = [
  ...MUTATIONS_OF_REVERSALS,
  ...MUTATIONS_OF_BOOKS,
  ...MUTATIONS_OF_KEYS,
  ...MUTATIONS_OF_DECISIONS,
  ...MUTATIONS_OF_GUARDS,
  ...MUTATIONS_OF_SURROUNDINGS,
];
