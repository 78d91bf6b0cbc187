import { invalidValues } from '../errors.ts';

/** @throws RequestRejected (INVALID_VALUES) naming the header */
export function refuseHeader(name: string, detail: string): never {
  throw invalidValues([{ path: ['headers', name], detail }]);
}
