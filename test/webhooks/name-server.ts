import dgram from 'node:dgram';
import { once } from 'node:events';

/** The response of a name server for a name: its addresses, no such name, a failure, or silence. */
export type NameResponse = readonly string[] | 'no such name' | 'failure' | 'silence';

/** RFC 1035 4.1.1, RCODE. */
const CODES = { 'no such name': 3, failure: 2 } as const;
const TYPE = { A: 1, AAAA: 28 };

/** A name server on this machine (RFC 1035, RFC 3596); a resolver accepts `address`. */
export async function startNameServer(names: Readonly<Record<string, NameResponse>>) {
  const asked: string[] = [];
  const socket = dgram.createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    asked.push(name);
    const response = names[name] ?? 'no such name';
    if (response === 'silence') return;
    const records =
      typeof response === 'string' ? [] : response.filter((each) => each.includes(':') === (type === TYPE.AAAA));
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | (typeof response === 'string' ? CODES[response] : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(
      Buffer.concat([header, query.subarray(12, end), ...records.map((each) => recordOf(each, type))]),
      port,
      address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** A pointer to the question's name, type, class IN, 60 s, and the address. */
function recordOf(address: string, type: number): Buffer {
  const bytes = type === TYPE.A ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address);
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, bytes.length]);
  return Buffer.concat([head, bytes]);
}

function ipv6Bytes(address: string): Buffer {
  const [left = '', right = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter(Boolean);
  const zeros = Array.from({ length: 8 - groups(left).length - groups(right).length }, () => '0');
  const all = [...groups(left), ...zeros, ...groups(right)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
