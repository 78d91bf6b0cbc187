import { commandBody, type HostCommand } from '../host-command.ts';

export interface Diagnostics {
  /** Check value of the default local master key, 16 hex digits. */
  readonly lmkCheckValue: string;
  /** `0007-E000`. */
  readonly firmware: string;
}

/** NC (Perform Diagnostics): no fields. Response: LMK Check (16 H), Firmware Number (9 A). */
export function diagnostics(): HostCommand<Diagnostics> {
  return {
    code: 'NC',
    body: commandBody(),
    read(fields) {
      const lmkCheckValue = fields.hex(16);
      const firmware = fields.text(9);
      fields.end();
      return { lmkCheckValue, firmware };
    },
  };
}

export interface DeviceStatus {
  readonly ioBufferBytes: number;
  readonly tcpSockets: number;
  readonly firmware: string;
}

const BUFFER_BYTES: Readonly<Record<string, number>> = { '0': 2_048, '1': 8_192, '2': 16_384, '3': 32_768 };
/** I/O buffer size (1 N), Ethernet type (1 N), sockets, Firmware Number (9 A), two reserved fields (1 and 4). */
const CHARS_BESIDE_SOCKETS = 16;

/**
 * NO (HSM Status), Mode Flag 00. The number of TCP sockets has 2 digits, and 4 since payShield 10K firmware 1.8a; its length
 * follows from that of the response.
 */
export function deviceStatus(): HostCommand<DeviceStatus> {
  return {
    code: 'NO',
    body: commandBody('00'),
    read(fields) {
      const ioBufferBytes = BUFFER_BYTES[fields.text(1)] ?? 0;
      fields.text(1);
      const socketDigits = fields.peek(CHARS_BESIDE_SOCKETS + 4).length - (CHARS_BESIDE_SOCKETS - 2);
      const tcpSockets = Number(fields.digits(socketDigits));
      const firmware = fields.text(9);
      fields.text(5);
      fields.end();
      return { ioBufferBytes, tcpSockets, firmware };
    },
  };
}

/** B2 (Echo Command): Length (4 H), Message Data. The device returns the data. */
export function echo(data: string): HostCommand<void> {
  const length = data.length.toString(16).toUpperCase().padStart(4, '0');
  return {
    code: 'B2',
    body: commandBody(length, data),
    read(fields) {
      fields.literal(data);
      fields.end();
    },
  };
}
