import { refused } from '../errors.ts';

/** @throws RequestRefused 400 naming the header */
export function refuseHeader(name: string, detail: string): never {
  throw refused([{ path: ['headers', name], detail }]);
}
