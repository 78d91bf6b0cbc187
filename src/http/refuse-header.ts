import { RequestRefused } from '../errors.ts';

/** @throws RequestRefused 400 naming the header */
export function refuseHeader(name: string, detail: string): never {
  throw new RequestRefused(400, 104, 'The request does not fit its schema.', [{ pointer: `/headers/${name}`, detail }]);
}
