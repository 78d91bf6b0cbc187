import { z } from 'zod';
import { StartError } from '../../../basics/errors.ts';
import type { FrameSocket } from './ceremony-place.ts';
import { type CustodianTerminal, typeComponent, typeLogin } from './type-component.ts';

const ENDED = 'The ceremony has ended at the first terminal.';

const opening = z.object({
  key: z.object({
    keyId: z.string(),
    usage: z.string(),
    algorithm: z.enum(['tdes', 'aes']),
    lengthBytes: z.union([z.literal(8), z.literal(16), z.literal(24), z.literal(32)]),
  }),
  first: z.string(),
});
const response = z.union([z.object({ accepted: z.string() }), z.object({ refused: z.string(), isLast: z.boolean() })]);
const end = z.union([z.object({ done: z.string() }), z.object({ failed: z.string() })]);

/**
 * Joins a ceremony at the terminal of the second custodian. The login is checked by the process of the first one.
 *
 * @returns the check value of the new key
 * @throws StartError BAD_CONFIG if the ceremony fails or ends
 */
export async function joinCeremony(
  terminal: CustodianTerminal,
  socket: FrameSocket,
  cancelled: Promise<never>,
): Promise<string> {
  const ended = socket.closed.then((): never => {
    throw new StartError('BAD_CONFIG', ENDED);
  });
  ended.catch(() => {}); // it matters only while a person types
  const interrupted = Promise.race([cancelled, ended]);
  interrupted.catch(() => {});
  try {
    const { key, first } = await received(socket, opening, cancelled);
    terminal.say(`Key ${key.keyId} for ${key.usage}, ${key.algorithm}, ${2 * key.lengthBytes} hex digits.`);
    terminal.say(`The first custodian is ${first}.\n`);
    await login(terminal, socket, interrupted);
    const component = await Promise.race([typeComponent(terminal, key), interrupted]);
    socket.send(component);
    component.fill(0);
    terminal.say('Waiting for the first custodian.');
    const result = await received(socket, end, cancelled);
    if ('failed' in result) throw new StartError('BAD_CONFIG', `The ceremony has failed: ${result.failed}`);
    return result.done;
  } finally {
    socket.end();
  }
}

async function login(terminal: CustodianTerminal, socket: FrameSocket, cancelled: Promise<never>): Promise<void> {
  for (;;) {
    socket.sendJson(await Promise.race([typeLogin(terminal), cancelled]));
    const judged = await received(socket, response, cancelled);
    if ('accepted' in judged) return;
    if (judged.isLast) throw new StartError('BAD_CONFIG', judged.refused);
    terminal.say(judged.refused);
  }
}

async function received<Content>(
  socket: FrameSocket,
  schema: z.ZodType<Content>,
  cancelled: Promise<never>,
): Promise<Content> {
  const content = schema.safeParse(await Promise.race([socket.receiveJson(), cancelled])).data;
  if (content === undefined) throw new StartError('BAD_CONFIG', ENDED);
  return content;
}
