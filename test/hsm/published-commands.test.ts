import { describe, expect, test } from 'vitest';
import { respondToCommand } from '../../src/tools/simulator/hsm/host-commands.ts';
import { TestLmk } from '../../src/tools/simulator/hsm/test-lmk.ts';

const lmk = new TestLmk('variant');
const respond = (command: string) => respondToCommand(Buffer.from(command, 'latin1'), lmk);

/**
 * Commands and responses under the published test LMK, as the tests of the Thales Simulator Library list them. They are
 * independent of this code: cryptograms under the LMK, variants, key check values and PIN blocks must be equal.
 */
describe('the simulated device responds to published commands byte for byte', () => {
  test.each([
    [
      'A6, a key under a ZMK in X9.17 form',
      'A6001U71979DEB8587E2734F1E99D5DCAEF9ACXC8E3118AFA853807EB7E92294663A5BAU',
      'A700U1EF828AA8F6B80EB83E19FBC373F3A856F1E3F',
    ],
    [
      'A6, a key under a ZMK with variants',
      'A6001U71979DEB8587E2734F1E99D5DCAEF9ACU482C4E722BB0CF1845E1E5BD16310119U',
      'A700U0E07CDC0161A0DE3B5AA44DF227EC9DEABDEBC',
    ],
    [
      'A6, a single-length key',
      'A6001U1457FF6ADF6250C66C368416B4C9D3832B930A07119F93A8Z',
      'A700BAB32D775A38E4AB73936E',
    ],
    [
      'A8, a key with variants',
      'A8002U1457FF6ADF6250C66C368416B4C9D383U8463435FC4B4DAA0C49025272C29B12CU',
      'A900U2C62A23D001B97412950CD8BE66C7639070753',
    ],
    [
      'A8, a single-length key',
      'A8002U1457FF6ADF6250C66C368416B4C9D3837BB126F2BE631486Z',
      'A90016224FDAA779AFB31FFD3C',
    ],
    ['BU, a ZPK', 'BU011U1EF828AA8F6B80EB83E19FBC373F3A85', 'BV006F1E3F74F826B7EB'],
    ['BU, a ZMK', 'BU001U93CB819F8FEE4F78BF9C4CDD84750DB1', 'BV00B70AD25C94548822'],
    [
      'CA, TPK to ZPK',
      'CAU8463435FC4B4DAA0C49025272C29B12CU1EF828AA8F6B80EB83E19FBC373F3A85126428EB94035AF53B0101550000025321',
      'CB000491DDDA0A7C12CFAA01',
    ],
    [
      'CA, single-length keys',
      'CA0406FBB23A5214DFBAB32D775A38E4AB12AE7A708F877571A90101550000025321',
      'CB0004E98FFDA17099AF5501',
    ],
  ])('%s', (_, command, response) => {
    expect(respond(command)).toBe(response);
  });
});
