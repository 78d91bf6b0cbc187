import { HONEST_CASES } from '../honest/honest-cases.ts';
import { CASES, type Case } from './cases.ts';

/** The cases of the switch that may say anything, and those of honest switches. */
export const ALL_CASES: readonly Case[] = [...CASES, ...HONEST_CASES];
