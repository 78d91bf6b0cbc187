import { moment, presence, type RequestRule } from '#processor-kit';
import type { AcmeMessage } from './spec.ts';

const MONEY = ['0100', '0400', '0401'];
const ALL = [...MONEY, '0800'];

// EDIT: what your switch requires of requests; a request that breaks a rule receives 30.
export const RULES: readonly RequestRule<AcmeMessage>[] = [
  ...presence<AcmeMessage>(ALL, ['transmissionDateTime', 'stan']),
  ...presence<AcmeMessage>(MONEY, ['amount', 'rrn', 'tid', 'mid', 'currency']),
  ...presence<AcmeMessage>(['0100'], ['pan']),
  ...presence<AcmeMessage>(['0400', '0401'], ['originalElements']),
  ...presence<AcmeMessage>(['0800'], ['networkCode']),
  moment(ALL, 'transmissionDateTime', 'MMDDhhmmss'),
];
