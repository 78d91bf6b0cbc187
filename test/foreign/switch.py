"""A card switch written from processors/type-1/README.md alone, for tests.

It shares no code and no assumption with the gateway: it decodes messages with the tables of that page, keeps books of
its own, and finds duplicates and originals by the rule that a flag selects. GET /books on the printed HTTP port returns
the books as JSON, DELETE /books?duplicates=rrn&reversal=exact begins empty ones; SIGTERM prints them. Published test cards only. Python 3, standard library.

The cents of an amount select a fault (--help lists them); --seed and --faults select faults at random instead.
"""
import argparse
import asyncio
import json
import random
import re
import signal
import struct
import sys
from datetime import datetime, timezone
from urllib.parse import parse_qs, urlsplit

TEST_CARDS = re.compile(r'^(4111111111111111|4012888888881881|4761739001010\d{3}|5413330089\d{6}|5555555555554444|'
                        r'5105105105105100|2223000048400011|374245\d{9}|67999989\d{11}|4{16})$')

FORMATS = """2 n..19 3 n6 4 n12 5 n12 6 n12 7 n10 8 n8 9 n8 10 n8 11 n6 12 n6 13 n4 14 n4 15 n4 16 n4 17 n4 18 n4 19 n3
20 n3 21 n3 22 n3 23 n3 24 n3 25 n2 26 n2 27 n1 28 x9 29 x9 30 x9 31 x9 32 n..11 33 n..11 34 s..28 35 z..37 36 s...104
37 s12 38 s6 39 s2 40 n3 41 s8 42 s15 43 s40 44 s..25 45 s..76 46 s...999 47 s...999 48 s...999 49 n3 50 n3 51 n3 52 b8
53 b48 54 s...120 55 b...999 56 s...4 57 s...3 58 n...11 59 s...255 60 s...999 61 s...999 62 s...999 63 s...999 64 b8
66 n1 67 n2 68 n3 69 n3 70 n3 71 n4 72 n4 73 n6 74 n10 75 n10 76 n10 77 n10 78 n10 79 n10 80 n10 81 n10 82 n12 83 n12
84 n12 85 n12 86 n16 87 n16 88 n16 89 n16 90 n42 91 s1 92 s2 93 s5 94 s7 95 s42 96 b8 97 x17 98 s25 99 n..11 100 n..11
101 s..17 102 s..28 103 s..28 104 s...100 105 s...999 106 s...999 107 s...999 108 s...999 109 s...999 110 s...999
111 s...999 112 s...999 113 s...999 114 s...999 115 s...999 116 s...999 117 s...999 118 n...30 119 n...30 120 s...999
121 s...999 122 s...999 123 s...15 124 s...255 125 s...999 126 s...999 127 s......999999 128 b8"""
ELEMENTS = """2 s..32 3 s48 4 s22 5 s73 6 n2 7 s..50 8 s...999 9 s...255 10 n3 11 s..32 12 s..25 13 s17 14 s8 15 s..29
16 s1 17 s..50 18 s..50 19 s31 20 n8 21 s..12 22 s.....99999 23 s253 24 s..28 25 s....8000 26 s..12 27 s1 28 n4 29 b20
30 s1 31 s..11 32 b..33 33 n4 34 n2 35 s..11 36 s..25 37 s4 38 s..99 39 s2"""


def table(text):
    words = text.split()
    rows = {}
    for number, form in zip(words[::2], words[1::2]):
        kind, dots, size = re.match(r'([a-z])(\.*)(\d+)$', form).groups()
        rows[int(number)] = (kind, len(dots), int(size))
    return rows


FIELDS, SWITCH_DATA = table(FORMATS), table(ELEMENTS)
ECHOED = (3, 4, 7, 11, 12, 13, 22, 23, 25, 32, 33, 37, 41, 42, 49, 70, 123)
REQUIRED = (3, 4, 12, 13, 14, 22, 25, 32, 37, 41, 42, 43, 49, 123)
RESPONSES = {'0100': '0110', '0200': '0210', '0420': '0430', '0421': '0430', '0800': '0810'}

FAULTS = {
    61: 'silent: books, and never responds',
    62: 'late: books, and responds after --late-ms',
    63: 'trouble: books, and responds with 96',
    64: 'trouble-06: books, and responds with 06',
    65: 'trouble-22: books, and responds with 22',
    66: 'doubled: gets the request twice and responds to both: 94, or a second booking with --duplicates none',
    67: 'doubled-lost: as doubled, but if the second response is 94, the first one is lost',
    71: 'second-approval: books twice, and approves twice with two numbers in DE38',
    72: 'reversal-94: silent, and responds to each reversal with 94 without effect',
    73: 'reversal-lost: silent, reverses, does not respond to the first reversal, and responds to its repeat with 94',
    74: 'reversal-refused: silent, and refuses each reversal with 40',
    75: 'reversal-trouble: silent, and responds to the first reversal with 96 without effect',
    76: 'late-refused: late, and refuses each reversal with 40',
    77: 'void-94: responds to each reversal with 94 without effect',
    78: 'void-lost: as reversal-lost, but the request receives a response',
    79: 'void-refused: refuses each reversal with 40',
    80: 'void-trouble: responds to the first reversal with 96 without effect',
    81: 'declined: 51, and books nothing',
}


class Unreadable(Exception):
    def __init__(self, text, fields):
        super().__init__(text)
        self.fields = fields


def read_fields(data, at, bits, rows, fields, first_bit):
    for bit in bits:
        if bit == first_bit:
            continue
        if bit not in rows:
            raise Unreadable(f'field {bit} is in no table', fields)
        kind, digits, size = rows[bit]
        length = size
        if digits:
            text = data[at:at + digits]
            if len(text) != digits or not text.isdigit():
                raise Unreadable(f'the length of field {bit} is not {digits} digits', fields)
            length, at = int(text), at + digits
            if length > size:
                raise Unreadable(f'field {bit} is longer than {size}', fields)
        value = data[at:at + length]
        if len(value) != length:
            raise Unreadable(f'field {bit} ends after the message', fields)
        at += length
        if kind == 'b':
            fields[bit] = value.hex().upper()
            continue
        text = value.decode('latin-1')
        if kind == 'n' and not re.fullmatch(r'[0-9]*', text):
            raise Unreadable(f'field {bit} has other characters than digits', fields)
        fields[bit] = text
    return at


def bits_of(bitmap, offset):
    return [offset + i + 1 for i in range(len(bitmap) * 8) if bitmap[i // 8] & (0x80 >> (i % 8))]


def decode(body):
    if len(body) < 12 or not body[:4].isdigit():
        raise Unreadable('no MTI and bitmap', {})
    fields = {0: body[:4].decode()}
    bits, at = bits_of(body[4:12], 0), 12
    if 1 in bits:
        if len(body) < 20:
            raise Unreadable('no second bitmap', fields)
        bits, at = bits + bits_of(body[12:20], 64), 20
    at = read_fields(body, at, bits, FIELDS, fields, 1)
    if at != len(body):
        raise Unreadable('bytes follow the last field', fields)
    if 127 in fields:
        raw = fields[127].encode('latin-1')
        inner = {}
        if len(raw) < 8 or read_fields(raw, 8, bits_of(raw[:8], 0), SWITCH_DATA, inner, 1) != len(raw):
            raise Unreadable('field 127 does not end where its length says', fields)
        fields[127] = inner
    return fields


def write_fields(fields, rows):
    out = b''
    for bit in sorted(fields):
        kind, digits, size = rows[bit]
        value = bytes.fromhex(fields[bit]) if kind == 'b' else fields[bit].encode('latin-1')
        if digits:
            out += str(len(value)).zfill(digits).encode() + value
        else:
            out += value.ljust(size) if bit in (38, 41, 42) else value
    return out


def bitmap_of(bits, size):
    bitmap = bytearray(size)
    for bit in bits:
        bitmap[(bit - 1) // 8] |= 0x80 >> ((bit - 1) % 8)
    return bytes(bitmap)


def encode(fields):
    values = {bit: value for bit, value in fields.items() if bit}
    if 127 in values:
        inner = values[127]
        values[127] = (bitmap_of(inner, 8) + write_fields(inner, SWITCH_DATA)).decode('latin-1')
    wide = max(values) > 64
    bits = list(values) + ([1] if wide else [])
    body = fields[0].encode() + bitmap_of(bits, 16 if wide else 8) + write_fields(values, FIELDS)
    return struct.pack('>H', len(body)) + body


def exists(text, form):
    try:  # 2024 is a leap year, so 29 February exists
        datetime.strptime(('2024' + text) if form.startswith('%m') else text, ('%Y' + form) if form.startswith('%m') else form)
        return len(text) in (4, 6, 10)
    except ValueError:
        return False


def broken_rule(m):
    def bad(numbers):
        return next((n for n in numbers if not m.get(n)), None)
    mti = m[0]
    missing = bad((7, 11)) or (bad((70,)) if mti == '0800' else bad(REQUIRED))
    if missing:
        return f'{missing} is missing'
    if not exists(m[7], '%m%d%H%M%S'):
        return '7 does not exist'
    if mti == '0800':
        return None
    if not exists(m[12], '%H%M%S') or not exists(m[13], '%m%d') or not '01' <= m[14][2:] <= '12':
        return '12, 13 or 14 does not exist'
    switch_data = m.get(127, {})
    if not switch_data.get(2):
        return '127.2 is missing'
    pan = re.split('[D=]', m.get(35, ''))[0]
    if not m.get(2) and not pan or (m.get(2) and pan and m[2] != pan and mti in ('0100', '0200')):
        return '2 is missing or differs from 35'
    if mti == '0200' and int(m[4]) == 0:
        return '4 is zero'
    if len(m[123]) != 15:
        return '123 has not 15 positions'
    if (mti in ('0420', '0421') or m[3].startswith('20')) and not switch_data.get(11):
        return '127.11 is missing'
    if mti in ('0420', '0421'):
        missing = bad((56, 90, 95))
        if missing:
            return f'{missing} is missing'
        if len(m[90]) != 42 or m[90][4:10] != m[11] or int(m[95][:24]) != 0:
            return '90 names another STAN, or 95 leaves an amount'
    return None


class Books:
    """Every booking and reversal in the order in which it came. A PAN is kept masked."""

    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.entries = []
        self.requests = []
        self.numbers = 100000
        self.reversal_attempts = {}

    def identity(self, m):
        """What names a sale or refund at this switch; DE32 separates the acquirers."""
        rule = self.options.duplicates
        if rule == 'stan-terminal':
            return (m[32], m[11], m[41], m[13])
        if rule == 'rrn':
            return (m[32], m[37])
        if rule == '127.2':
            return (m[32], m[127][2])
        return (m[32].zfill(11), m[0], m[11], m[7])

    def named_by(self, m):
        """The identity that a reversal names."""
        rule, original = self.options.duplicates, m[90]
        if rule == 'stan-terminal':
            return (m[32], original[4:10], m[41], m[13])
        if rule == 'rrn':
            return (m[32], m[37])
        if rule == '127.2':
            return (m[32], m[127][11])
        return (original[20:31], original[:4], original[4:10], original[10:20])

    def fault_of(self, m):
        if self.options.faults is None:
            return FAULTS.get(int(m[4]) % 100, '').split(':')[0]
        if self.random.random() >= self.options.faults:
            return ''
        return self.random.choice([text.split(':')[0] for text in FAULTS.values()])

    def record(self, what, m, **more):
        pan = m.get(2) or re.split('[D=]', m.get(35, ''))[0]
        switch_data = m.get(127, {})
        entry = {'entry': len(self.entries), 'what': what, 'acquirer': m[32], 'mid': m[42], 'tid': m[41],
                 'card': pan[:6] + '*' * (len(pan) - 10) + pan[-4:], 'amount': int(m[4]), 'currency': m[49],
                 'stan': m[11], 'rrn': m[37], 'key': switch_data.get(2), 'originalKey': switch_data.get(11), **more}
        self.entries.append(entry)
        return entry

    def book(self, m, fault, again=False):
        self.numbers += 1
        what = 'refund' if m[3].startswith('20') else 'sale' if m[0] == '0200' else 'verification'
        sale = None
        if what == 'refund':
            sale = next((e['entry'] for e in self.entries
                         if e['what'] == 'sale' and e['acquirer'] == m[32] and e['key'] == m[127][11]), None)
        return self.record(what, m, authorizationCode=str(self.numbers), fault=fault, reversedBy=None, sale=sale,
                           again=again, identity=list(self.identity(m)))

    def known(self, m):
        if self.options.duplicates == 'none':
            return None
        identity = list(self.identity(m))
        return next((e for e in self.entries if e.get('identity') == identity), None)

    def originals(self, m):
        """The bookings that a reversal could mean, in the order in which they came."""
        named = list(self.named_by(m))
        found = [e for e in self.entries if e.get('identity') == named]
        if self.options.reversal == 'first-match':
            return found
        pan = m.get(2, '')
        return [e for e in found if e['tid'] == m[41] and e['mid'] == m[42] and e['amount'] == int(m[4])
                and e['card'][-4:] == pan[-4:] and (e['what'] == 'refund') == m[3].startswith('20')]

    def reverse(self, m):
        """Returns DE39 of the 0430, or None for no response."""
        found = self.originals(m)
        original = next((e for e in found if e['reversedBy'] is None), found[0] if found else None)
        fault = original['fault'].replace('void-', 'reversal-') if original else ''
        attempts = 0
        if original:
            attempts = self.reversal_attempts[original['entry']] = self.reversal_attempts.get(original['entry'], 0) + 1
        refuses_refund = original and original['what'] == 'refund' and self.options.reversal == 'none-for-refunds'
        if original is None:
            code, effect = '25', False
        elif refuses_refund or fault in ('reversal-refused', 'late-refused'):
            code, effect = '40', False
        elif fault == 'reversal-94':
            code, effect = '94', False
        elif fault == 'reversal-trouble' and attempts == 1:
            code, effect = '96', False
        elif original['reversedBy'] is not None:
            code, effect = ('94' if fault == 'reversal-lost' else '00'), False
        else:
            code, effect = (None if fault == 'reversal-lost' else '00'), True
        entry = self.record('reversal', m, reason=m[56], repeat=m[0] == '0421', response=code, original=None)
        if effect:
            entry['original'], original['reversedBy'] = original['entry'], entry['entry']
        return code


class Switch:
    def __init__(self, options):
        self.options = options
        self.books = Books(options)
        self.signed_on = set()
        self.tasks = set()

    async def connection(self, reader, writer):
        try:
            while True:
                length, = struct.unpack('>H', await reader.readexactly(2))
                if length > 8192:
                    break
                if length:
                    self.handle(await reader.readexactly(length), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.signed_on.discard(writer)
            writer.close()

    def handle(self, body, writer):
        try:
            m = decode(body)
        except Unreadable as error:
            m = error.fields
            print(f'a message cannot be read: {error}', file=sys.stderr, flush=True)
            if m.get(0) in RESPONSES:
                m.pop(127, None)
                self.respond(writer, m, '30')
            return
        if m[0] not in RESPONSES:
            if m[0][2:3] in '024' and m[0][3] == '0' and m[0][2] != '1':
                self.respond(writer, m, '12')
            return
        broken = broken_rule(m)
        if broken:
            self.books.requests.append({'mti': m[0], 'response': '30', 'reason': broken})
            print(f'{m[0]} is refused with 30: {broken}', file=sys.stderr, flush=True)
            return self.respond(writer, m, '30')
        if m[0] == '0800':
            if m[70] == '001':
                self.signed_on.add(writer)
            if m[70] == '002':
                self.signed_on.discard(writer)
            return self.respond(writer, m, '00' if m[70] in ('001', '002', '201', '301') else '12')
        if writer not in self.signed_on:
            return self.respond(writer, m, '91')
        if m[0] in ('0420', '0421'):
            code = self.books.reverse(m)
            return self.respond(writer, m, code) if code else None
        pan = m.get(2) or re.split('[D=]', m[35])[0]
        if not TEST_CARDS.match(pan):
            return self.respond(writer, m, '14')
        self.request(m, writer)

    def request(self, m, writer):
        fault = self.books.fault_of(m)
        known = self.books.known(m)
        if known:
            self.books.record('duplicate', m, original=known['entry'])
            return self.respond(writer, m, '94')
        if fault == 'declined':
            return self.respond(writer, m, '51')
        first = self.books.book(m, fault)
        number = first['authorizationCode']
        if fault in ('late', 'late-refused'):
            self.later(self.options.late_ms, writer, m, '00', number)
        elif fault.startswith('trouble'):
            self.respond(writer, m, {'trouble': '96', 'trouble-06': '06', 'trouble-22': '22'}[fault])
        elif fault in ('doubled', 'doubled-lost'):
            if fault == 'doubled' or not self.books.known(m):
                self.respond(writer, m, '00', number)
            if self.books.known(m):
                self.respond(writer, m, '94')
            else:
                self.respond(writer, m, '00', self.books.book(m, fault, True)['authorizationCode'])
        elif fault == 'second-approval':
            self.respond(writer, m, '00', number)
            self.respond(writer, m, '00', self.books.book(m, fault, True)['authorizationCode'])
        elif fault != 'silent' and not fault.startswith('reversal-'):
            self.respond(writer, m, '00', number)

    def later(self, milliseconds, *response):
        async def send():
            await asyncio.sleep(milliseconds / 1000)
            self.respond(*response)
        task = asyncio.ensure_future(send())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def respond(self, writer, m, code, number=None):
        fields = {bit: m[bit] for bit in ECHOED if bit in m}
        if m[0] == '0800':
            fields = {bit: m[bit] for bit in (7, 11, 70) if bit in m}
        fields[0], fields[39] = RESPONSES.get(m[0], m[0][:2] + m[0][2:3].translate(str.maketrans('024', '135')) + '0'), code
        if m[0] != '0800':
            fields[15] = datetime.now(timezone.utc).strftime('%m%d')
            if m.get(127):
                fields[127] = {2: m[127][2]}
        if number:
            fields[38] = number
        if not writer.is_closing():
            writer.write(encode(fields))

    def begin_books(self, rules):
        for name in ('duplicates', 'reversal'):
            setattr(self.options, name, rules.get(name, [getattr(self.options, name)])[0])
        self.books = Books(self.options)

    async def serve_books(self, reader, writer):
        try:
            method, target = (await reader.readuntil(b'\r\n\r\n')).decode('latin-1').split(' ')[:2]
            if method == 'DELETE':
                self.begin_books(parse_qs(urlsplit(target).query))
            content = json.dumps({'entries': self.books.entries, 'refused': self.books.requests,
                                  'waiting': len(self.tasks)}).encode()
            writer.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n'
                         b'content-length: %d\r\n\r\n' % len(content) + content)
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()


async def main():
    faults = '\n'.join(f'  x.{cents}  {text}' for cents, text in FAULTS.items())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=f'faults by amount:\n{faults}')
    parser.add_argument('--port', type=int, default=0)
    parser.add_argument('--http', type=int, default=0)
    parser.add_argument('--duplicates', choices=('stan-terminal', 'rrn', '127.2', 'de90', 'none'), default='stan-terminal')
    parser.add_argument('--reversal', choices=('first-match', 'exact', 'none-for-refunds'), default='exact')
    parser.add_argument('--late-ms', type=int, default=2000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--faults', type=float, help='share of requests with a random fault, instead of faults by amount')
    options = parser.parse_args()
    switch = Switch(options)
    server = await asyncio.start_server(switch.connection, '127.0.0.1', options.port)
    books = await asyncio.start_server(switch.serve_books, '127.0.0.1', options.http)
    print(json.dumps({'port': server.sockets[0].getsockname()[1], 'http': books.sockets[0].getsockname()[1]}), flush=True)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    print(json.dumps({'entries': switch.books.entries}), flush=True)
    sys.exit(0)


if __name__ == '__main__':
    asyncio.run(main())
