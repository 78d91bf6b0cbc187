/**
 * The switch's side of the connection benchmark, in its own process: responds to every frame unchanged, except for the
 * third digit of its MTI (0800 -> 0810), so that the client's side is measured. Reports its port to the parent.
 */
import net from 'node:net';
import { FrameReader } from '../../src/codecs/iso8583/network/frame-reader.ts';

const LENGTH_BYTES = 2;
const RESPONSE_DIGIT = 0x31;

const server = net.createServer({ noDelay: true }, (socket) => {
  const reader = new FrameReader({ lengthHeader: 'binary-2', maxFrameBytes: 65_535 }, (bytes, start, end) => {
    bytes[start + 2] = RESPONSE_DIGIT;
    socket.write(bytes.subarray(start - LENGTH_BYTES, end));
  });
  socket.on('data', (chunk) => {
    socket.cork();
    reader.push(chunk);
    socket.uncork();
  });
  socket.on('error', () => {});
});

server.listen(0, '127.0.0.1', () => process.send!((server.address() as net.AddressInfo).port));
process.on('disconnect', () => process.exit());
